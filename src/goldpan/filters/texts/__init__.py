"""What the prose of a text is: its language, its quality, and what in it is private."""
