"""Criteria that judge fix pairs (FAUN-Eval, section 3.3.2, and beyond)."""
