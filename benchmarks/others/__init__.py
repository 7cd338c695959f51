"""What programs.py and suites.py share: they build and run code from outside this project, and report how it went."""
