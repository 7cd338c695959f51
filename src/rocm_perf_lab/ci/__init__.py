"""Builds two revisions of a git repository, profiles the same programs of both, and compares the results."""
