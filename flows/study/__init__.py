"""Several methods on one dataset or log: a table, a page, and a champion."""
