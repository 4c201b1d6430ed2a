"""Fine-tunes language models on tasks, on one processor or on several."""
