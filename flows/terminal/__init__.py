"""What a person sees: progress, tables, errors."""
