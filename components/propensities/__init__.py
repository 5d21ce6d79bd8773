"""Propensities that a log lacks, estimated from its rows, and checks of those that it has."""
