"""The commands as tools of the Model Context Protocol. Each call runs its own `rocm-perf ... --json`: same code, same JSON.

A tool's parameters are derived from the command's own options, so that the two cannot diverge.
"""
