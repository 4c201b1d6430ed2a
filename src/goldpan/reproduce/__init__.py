"""Reproduces the tables of papers from recipes: `goldpan reproduce`."""
