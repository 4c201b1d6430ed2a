"""What lies in the folder of a mirror: what it knows, and the mirrored files."""

STATE, FILES = "mirror.json", "workspace"
