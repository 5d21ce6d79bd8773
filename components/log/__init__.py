"""The bandit log: its columns, its checks, in memory and on disk."""
