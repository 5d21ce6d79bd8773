"""One pipeline: its settings, its flows, its runs in MLflow."""
