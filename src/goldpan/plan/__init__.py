"""One declared plan for the whole pipeline: which steps it has, and which of them are due."""
