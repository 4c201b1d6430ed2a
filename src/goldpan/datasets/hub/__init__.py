"""The Hugging Face Hub: checks before a dataset is published, and the publication."""
