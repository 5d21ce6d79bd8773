"""Many cells: how they are run, by processes of this machine or on a Dask cluster."""
