"""The rules for answers with a Triton function, and what the gate checks for such functions."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.prompt.triton.function import TritonFunction


@dataclass(frozen=True)
class TritonAnswerRules:
    """The settings of `rocm-perf gate --triton`."""

    min_improvement: float = 0.02
    ulps: int = 0

    def lines(self, function: TritonFunction) -> list[str]:
        """The rules, one per entry, in Markdown."""
        return [
            f"Answer with exactly one fenced Python block. It contains the complete new definition of `{function.name}`, "
            "decorators and body, and nothing else: one function. It replaces the current definition.",
            "Name, parameters and their order stay as they are, and so does the host's code: the script sets the grid, block "
            "sizes and options. `@triton.autotune` and `@triton.heuristics` may be added or changed for values that the script "
            "does not set.",
            "The function uses what the old one uses, Triton's language, methods of its tensors, functions of the file with "
            "`@triton.jit`, and range, min, max, abs, len, int, float, bool, tuple, isinstance; no inline assembly, lambdas, "
            "comprehensions, imports or f-strings. It keeps nothing from one launch to the next.",
            f"The results stay {self._results}.",
            "The gate launches both functions from the script, and repeats these launches on the same memory: with the "
            "captured, random, positive, large and special contents, smaller numbers for every integer, other orders of waves "
            "and a race check, and in Triton's interpreter. The kernel's time must fall by "
            f"{self.min_improvement:.1%}. Masks must hold for sizes that are not a multiple of a block.",
        ]

    @property
    def _results(self) -> str:
        if self.ulps:
            return f"the same to {self.ulps} units in the last place in floating-point arrays, and bit for bit elsewhere"
        return "the same bit for bit: do not reorder floating-point sums, and do not change rounding"
