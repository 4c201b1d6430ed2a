"""Everything that touches the network or git, and the tables that come out of it."""
