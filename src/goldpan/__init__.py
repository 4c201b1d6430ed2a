"""Goldpan turns GitHub history into curated, published, evaluated datasets."""

__version__ = "0.1.0"
