"""Which rows of a dataset stand in other data, such as a benchmark: texts and identity."""
