"""Presents a profile: JSON documents with a schema, a Parquet table, and a report for the terminal."""
