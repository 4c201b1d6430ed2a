"""Finished datasets: splits, columns, files, cards and the Hub."""
