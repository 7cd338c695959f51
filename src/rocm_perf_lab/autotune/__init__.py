"""Finding the best configuration of a program with the fewest runs.

space_file reads what may be chosen, space enumerates and samples it, strategies propose, evaluation runs a program, cache
remembers what ran, tune brings them together, results tells. recorded and score replay other tuners' recordings.
"""
