"""Says which differences between models' scores are more than chance, and how large they are."""
