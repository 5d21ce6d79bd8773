"""Results to the rows of tables and figures."""
