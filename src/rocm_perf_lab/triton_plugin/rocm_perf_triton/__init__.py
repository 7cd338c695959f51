"""Triton's driver for the software device.

rocm-perf puts the folder above on PYTHONPATH of the programs that it runs on the software device; Triton finds this package by
its entry point. It is imported by the user's Python, which need not have any of rocm-perf-lab's own dependencies.
"""
