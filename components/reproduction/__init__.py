"""From results of single runs to the paper's tables, figures, and a verdict on its claims."""
