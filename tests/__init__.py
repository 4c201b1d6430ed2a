"""Tests; a regular package, so that no installed package called `tests` hides it."""
