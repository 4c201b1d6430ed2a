"""Rows of datasets compared: versions of one, and what others hold too."""
