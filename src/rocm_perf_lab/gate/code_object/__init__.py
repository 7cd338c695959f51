"""Step 3, the code object: the candidate's machine code may differ from the baseline's only in the judged kernel."""
