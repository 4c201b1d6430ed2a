"""Measurements: each prints its figure beside a limit or a peer measured in the same run."""
