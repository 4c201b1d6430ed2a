"""Findings on whether a dataset's rows measure anything, with evidence, kept in `audits/`."""
