"""Turns a program, or existing databases of its runs, into the documents in a run directory."""
