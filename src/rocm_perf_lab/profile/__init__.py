"""From a program or its databases to the documents in a run directory."""
