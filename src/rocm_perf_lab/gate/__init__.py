"""The judge of a changed kernel: it knows baseline, candidate and limits, and nothing of who proposed the change."""
