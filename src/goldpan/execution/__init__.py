"""Runs the tests of repositories, isolated and as of a date, before and after a patch."""
