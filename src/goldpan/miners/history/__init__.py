"""The history beside the tables: the states before and after each pull request, file by file."""
