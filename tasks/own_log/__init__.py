"""Stages of a person's own log: imported, its propensities completed, its policies judged by test rows."""
