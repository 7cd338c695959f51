"""Pauses a script at its launches of one kernel and repeats these, as another process requests by JSON lines on standard input.

    python -m rocm_perf_triton.served KERNEL SCRIPT [ARGUMENTS]...

The script runs as it would by itself. Its launches of KERNEL end up in the server, which repeats each new one with other values
or records it, until it is told to let the script go on. Works on the software device, and on a GPU with Triton's own driver.
"""
