"""The criteria that judge discussions alone."""
