"""The operations of each stage, which are methods of a workspace or its groups."""
