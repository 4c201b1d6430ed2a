"""Readers of the forms in which authors publish datasets, by the names that tasks give."""
