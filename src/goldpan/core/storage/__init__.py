"""Files of a workspace: archives, tables, records of runs, each whole and sealed."""
