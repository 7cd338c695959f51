"""Leads from a program, or from its databases, to the documents in a run directory."""
