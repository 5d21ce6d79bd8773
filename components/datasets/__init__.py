"""Labelled datasets: the registered ones, their files, their losses."""
