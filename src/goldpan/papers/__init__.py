"""Papers on top of Goldpan, each with what only its tables need."""
