"""The public names: logs, learners, policies and reports for scripts and notebooks."""
