"""Logs that other programs write: Open Bandit Pipeline, Vowpal Wabbit, Coba, the Open Bandit Dataset."""
