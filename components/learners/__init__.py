"""Learners: bandit logs to policies. Start at `methods.py` (what can be learned) and `learn.py` (how)."""
