"""From traces to findings. Every module reads the columns of a Trace and does not know which collector wrote it."""
