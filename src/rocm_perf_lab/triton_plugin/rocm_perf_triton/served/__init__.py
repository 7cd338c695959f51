"""Pauses a script whenever it launches a given kernel, and repeats the launch as requested by another process through JSON
lines on standard input.

    python -m rocm_perf_triton.served KERNEL SCRIPT [ARGUMENTS]...

The script runs as it would on its own, except that its launches of KERNEL go to the server. At each launch with new sizes, the
server repeats the launch with different values, or records it, until a request tells the server to let the script continue.
Works on the software device; compiling and timing also work on a GPU with Triton's own driver.
"""
