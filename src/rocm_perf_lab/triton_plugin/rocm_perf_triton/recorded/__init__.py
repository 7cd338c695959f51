"""Runs recorded launches again, each with memory of its own: needs neither Triton nor the script.

    python -m rocm_perf_triton.recorded JOB

JOB: a JSON file. Code that others wrote is only ever loaded onto the device here.
"""
