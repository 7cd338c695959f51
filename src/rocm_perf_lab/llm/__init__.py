"""The closed loop around a language model: the model proposes a kernel, and the optimizer's gate decides.

A model's answer is data. One code block in the answer replaces one kernel in the source, and another one may change the shapes
of its launches; the result is compiled and judged. Nothing else in the answer is executed, and none of its claims are trusted.
"""
