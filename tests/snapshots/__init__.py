"""What people and programs stand on, as texts: `python -m tests.snapshots` renews them."""
