"""report.html: the report as one file for browsers, which needs no network."""
