"""Criteria that judge issues (FAUN-Eval, section 3.3.1, and beyond)."""
