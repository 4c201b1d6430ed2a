"""SEARCH/REPLACE blocks: found between two versions of a file, written, read and applied."""
