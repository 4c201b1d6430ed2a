"""Reads code: languages, tree-sitter, what changed, SEARCH/REPLACE and unified diffs."""
