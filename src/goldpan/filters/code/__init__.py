"""Reads code: which language a path is, and whether a change has substance."""
