"""Runs of models on tasks, their metrics, and comparisons of models."""
