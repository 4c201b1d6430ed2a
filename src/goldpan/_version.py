"""The version of Goldpan, below everything, so that all may say it."""

__version__ = "0.1.0"
