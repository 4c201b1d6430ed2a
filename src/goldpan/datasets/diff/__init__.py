"""Differences between two versions of a dataset, and their reasons."""
