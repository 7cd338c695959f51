"""The prompt for a Triton function: its source, and the rules for a new version of it."""
