"""Learners: bandit logs to policies. Start at `methods.py` (what can be learned) and `learn` in it."""
