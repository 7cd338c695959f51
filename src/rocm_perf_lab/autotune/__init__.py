"""Finds the best configuration of a program with as few runs as possible.

space_file reads the choices, space enumerates and samples them, strategies propose configurations, evaluation runs a program,
cache remembers the results, search_loop combines all of these, and results reports the outcome. recorded reads recordings
made by this and other tuners, and score rates searches that look their times up in such recordings.
"""
