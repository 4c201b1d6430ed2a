"""What predictions are worth: one file a family of metrics, all from stored predictions alone."""
