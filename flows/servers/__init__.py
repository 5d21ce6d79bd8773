"""Servers and processes around a flow."""
