"""Makes the rows of datasets out of tables, histories and verdicts."""
