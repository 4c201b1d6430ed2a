"""FAUN-Eval: language models on question answering, fault localization and code edit."""
