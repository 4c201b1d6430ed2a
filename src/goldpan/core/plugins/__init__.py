"""Plugins: their parts, where they are found, and lookup of things by name."""
