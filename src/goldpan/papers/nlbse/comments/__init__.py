"""Sentences of class comments and docstrings out of repositories (NLBSE'23, section III-A)."""
