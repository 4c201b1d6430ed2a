"""ECSER: evaluating classifiers in software engineering research."""
