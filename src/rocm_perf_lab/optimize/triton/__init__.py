"""The optimizer's loop for a Triton function: its backend, its transformations, and the start of a run."""
