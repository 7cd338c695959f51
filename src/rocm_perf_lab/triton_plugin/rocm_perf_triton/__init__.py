"""Triton's driver for the software device.

rocm-perf adds the parent folder to the PYTHONPATH of programs that it runs on the software device; Triton finds this package
through its entry point. It is imported by the user's Python, which need not have any of rocm-perf-lab's own dependencies.
"""
