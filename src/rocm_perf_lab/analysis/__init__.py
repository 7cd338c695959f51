"""From traces to findings. Every module reads the columns of a Trace; none knows which collector wrote it."""
