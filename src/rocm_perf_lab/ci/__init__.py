"""Builds two revisions of a git repository, profiles the same programs in both, and judges what changed."""
