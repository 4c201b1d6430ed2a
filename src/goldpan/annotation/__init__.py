"""Review by large language models and by people."""
