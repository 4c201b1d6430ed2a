"""Preprocessing steps that tasks name, in the order of their files."""
