"""Step 1, the source: what is taken from a candidate's text, and what that text must not contain."""
