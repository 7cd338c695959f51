"""From traces to findings. The modules read the columns of a Trace and do not depend on which collector wrote it."""
