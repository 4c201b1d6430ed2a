"""The tables between stages: the one definition of every column.

Times are UTC, enumerations are lower case, and logins of bots end in ``[bot]`` whichever API
reported them. A null says that the source cannot see the value, never that it is zero.
Each table is one Parquet file per repository, its rows sorted by `TableSchema.order`.
"""
