"""Exports a run in the formats of other tools: timelines for Perfetto and Chrome, tables as CSV and Markdown."""
