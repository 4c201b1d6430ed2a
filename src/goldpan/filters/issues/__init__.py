"""Criteria that judge issues and discussions (FAUN-Eval, section 3.3.1, and beyond)."""
