"""Reads texts as GitHub does: Markdown, references, closing keywords."""
