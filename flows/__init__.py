"""Wiring: flows, their settings, and the command line."""

from multilogger.flows.environment import set_defaults

set_defaults()
