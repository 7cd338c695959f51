"""report.html: the report as a single file that a browser can show without a network."""
