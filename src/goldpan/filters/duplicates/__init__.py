"""Finds texts that say the same, exactly or nearly."""
