"""The commands, one file for each use; heavy imports stand inside them: `--help` must be instant."""
