"""Builds two revisions of a git repository, profiles the same programs in both, and compares the results."""
