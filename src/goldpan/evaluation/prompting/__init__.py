"""Asks language models for the answers to a task, and reads what they say."""
