"""Compares models: by stored runs, or by files of scores, counts and predictions."""
