"""Asks language models behind an OpenAI-compatible endpoint, and keeps what they said."""
