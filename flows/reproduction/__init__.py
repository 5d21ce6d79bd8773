"""Many pipelines: the paper's experiments, now or by the clock."""
