"""Stages: one file each, load, call a component, save, log; `engine` runs them."""
