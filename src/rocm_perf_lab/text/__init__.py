"""Numbers and names as human-readable text."""
