"""Builds two revisions of a git repository, profiles the same programs of both, and judges what changed."""
