"""The closed loop around a language model: the model proposes a kernel, and the optimizer's gate decides.

A model's answer is data. One code block of it is spliced into the source in place of one kernel, compiled and judged; nothing
else in the answer is executed, and none of its statements is trusted.
"""
