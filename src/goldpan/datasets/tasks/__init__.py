"""Tasks: what models are given and should answer, their rows and sources."""
