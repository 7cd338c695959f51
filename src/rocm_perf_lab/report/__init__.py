"""Presents a profile as JSON documents with a schema, as a Parquet table, and as a report for the terminal."""
