"""Settings: read from files, environment and flags, and trusted or not."""
