"""GitHub over REST and GraphQL: asking well, and asking for everything."""
