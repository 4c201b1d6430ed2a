"""Goldpan turns GitHub history into curated, published, evaluated datasets."""

from importlib.metadata import version

__version__ = version("goldpan")
