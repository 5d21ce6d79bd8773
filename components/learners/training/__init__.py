"""What learners share: settings, rows, measures, the loop and its checkpoints."""
