"""Reads rocpd databases (schema 3): dispatches, copies, agents, kernel symbols, counters and dependencies as columns."""
