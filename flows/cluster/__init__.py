"""A Dask cluster: the way to it, its workers, and whether all is well with them."""
