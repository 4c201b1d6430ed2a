"""Tasks as text-to-text, and splits that evaluate on tasks never trained on (CrossCodeBench)."""
