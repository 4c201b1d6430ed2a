"""Scores what datasets and tasks are worth: runs, metrics, statistics, reports."""
