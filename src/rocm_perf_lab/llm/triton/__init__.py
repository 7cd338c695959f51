"""Has a language model rewrite a Triton function: the form of answers, the backend, and the start of a run."""
