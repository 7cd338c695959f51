"""The commands as tools of the Model Context Protocol. Each call is a `rocm-perf ... --json` of its own: same code, same JSON.

What a tool takes is derived from the command's own options, so that the two cannot drift apart.
"""
