"""Findings of test runs: variants of a fix, and tests in other circumstances."""
