"""GH Archive: every public event of GitHub, hour by hour, read into tables."""
