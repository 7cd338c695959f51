"""The commands as tools of the Model Context Protocol. Each call starts its own `rocm-perf ... --json`, so it
runs the same code and returns the same JSON.

A tool's parameters are derived from the command's own options, so that the two cannot diverge.
"""
