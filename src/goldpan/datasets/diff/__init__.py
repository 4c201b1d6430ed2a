"""What changed between two versions of a dataset, and why."""
