"""What programs.py and suites.py share: they build and run code that is not this project's, and say what became of it."""
