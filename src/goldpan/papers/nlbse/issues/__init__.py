"""Builds issue-type datasets as the NLBSE tool competitions did, and better ones."""
