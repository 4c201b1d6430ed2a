"""Reads texts: Markdown, references, languages, prose, sentences, and what is nobody's business."""
