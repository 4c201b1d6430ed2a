"""What each stage reads and writes: checks and traces of a workspace."""
