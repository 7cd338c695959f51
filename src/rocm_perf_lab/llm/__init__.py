"""The closed loop around a language model: it proposes a kernel, the optimizer's gate decides.

What a model says is data. One code block of it is spliced into the source in place of one kernel, compiled and judged;
nothing else of it is executed, and nothing it says is believed.
"""
