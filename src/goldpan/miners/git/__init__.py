"""Reads a repository's history: clones, objects, the states before and after each pull."""
