"""Contamination: rows of a dataset that other data, such as a benchmark, hold too."""
