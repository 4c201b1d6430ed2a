"""Metrics, one file a family, all computed from stored predictions alone."""
