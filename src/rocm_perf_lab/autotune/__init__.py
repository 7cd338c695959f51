"""Finds the best configuration of a program with the fewest runs.

space_file reads the choices, space enumerates and samples them, strategies propose configurations, evaluation runs a program,
cache remembers its results, search_loop brings them together, results reports them. recorded and score replay recordings of
other tuners.
"""
