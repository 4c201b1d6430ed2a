"""Statistics: differences between models' scores beyond chance, and their size."""
