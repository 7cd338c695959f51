"""Starts child processes, waits for them and stops them."""
