"""What finished datasets share: splits, schemas, files, cards and the Hub."""
