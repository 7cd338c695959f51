"""Pauses a script at its launches of one kernel and repeats them, as requested by another process through JSON lines on
standard input.

    python -m rocm_perf_triton.served KERNEL SCRIPT [ARGUMENTS]...

The script runs as it would on its own. Its launches of KERNEL go to the server, which repeats each new one with different
values, or records it, until it is told to let the script continue. Works on the software device, and on a GPU with Triton's own
driver.
"""
