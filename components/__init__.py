"""Numerics: data, policies, loggers, bandit logs. Knows neither Prefect nor MLflow nor the store."""
