"""The stage engine: keys, artifacts, locks, caching through Prefect, tracking in MLflow."""
