"""A language model rewrites a Triton function: what an answer may be, the backend, and the start of a run."""
