"""Review by large language models: subjects in, verdicts with reasons and quotes out."""
