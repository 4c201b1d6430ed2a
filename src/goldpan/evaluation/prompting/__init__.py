"""Asks language models for the answers to a task, and reads their replies."""
