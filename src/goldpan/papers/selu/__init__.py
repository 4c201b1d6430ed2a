"""SELU: large language models on 17 non-code tasks of software engineering."""
