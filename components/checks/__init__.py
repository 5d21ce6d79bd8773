"""What a careful colleague looks at before a log is learned from, one module per kind of look."""
