"""From raw replies to tables, without any network."""
