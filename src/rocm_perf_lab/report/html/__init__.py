"""report.html: the report as one file for browsers that needs no network."""
