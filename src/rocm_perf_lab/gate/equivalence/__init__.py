"""Step 4, equivalence: candidate and baseline leave the same memory contents, on captured and on other inputs."""
