"""Replays recorded launches, each with memory of its own. Needs neither Triton nor the script.

    python -m rocm_perf_triton.recorded JOB

JOB: a JSON file. Code that others wrote is only loaded onto the device here, never executed by this process.
"""
