"""The rules for an answer and the checks that the gate will make, worded for proposers."""

from __future__ import annotations

from dataclasses import dataclass

from rocm_perf_lab.gate.regression_limits import DEFAULTS, RegressionLimits
from rocm_perf_lab.hip_source import SourceKernel
from rocm_perf_lab.optimize.backend import BackendOptions
from rocm_perf_lab.prompt.launch_terms import FIXED_LAUNCH, LaunchTerms

_RESULTS = {
    "full": "replays of up to three dispatches, on the captured and on other inputs, in several orders of waves",
    "sampled": "replays of one dispatch, on the captured and on one other input",
}


@dataclass(frozen=True)
class AnswerRules:
    """The settings of the gate. ulps: tolerance for floating-point results; 0 requires identical bits. checked: whether a
    program supplied by the user checks the output. limits: how much the program may regress in other respects.
    """

    min_improvement: float = 0.02
    equivalence: str = "full"
    ulps: int = 0
    checked: bool = False
    limits: RegressionLimits = DEFAULTS

    @classmethod
    def asked_for(cls, options: BackendOptions) -> AnswerRules:
        return cls(options.min_improvement, options.equivalence, options.ulps, bool(options.check), options.limits)

    def lines(self, kernel: SourceKernel, launch: LaunchTerms = FIXED_LAUNCH) -> list[str]:
        """The rules, one per entry, in Markdown."""
        name = kernel.name.rsplit("::", 1)[-1]
        return [
            f"Answer with exactly one fenced C++ block. It contains the complete new definition of `{name}`, "
            "attributes, template "
            "head and body, and before it any `__device__` functions that you add. It replaces the current definition"
            + (f", inside `{kernel.name.rpartition('::')[0]}`." if "::" in kernel.name else "."),
            "Name, template parameters, parameters and their types, and attributes stay as they are. "
            f"{launch.rule} `__restrict__` may be added to pointer parameters, and `__launch_bounds__(N)` with a plain number, "
            "if all launches keep to it.",
            "No preprocessor directives but `#pragma unroll` before a loop; no new types outside the body, global or static "
            "variables, or host functions, no `__builtin_assume`. Functions that exist already are not to be defined again or "
            "changed, and new ones have names that the program does not use yet.",
            f"The results stay {self.results}.",
            *self._gate(),
        ]

    @property
    def results(self) -> str:
        if self.equivalence == "program":
            return "what the program's own check accepts" if self.checked else "the same in everything that the program prints"
        if self.ulps:
            return f"the same to {self.ulps} units in the last place in floating-point buffers, and bit for bit elsewhere"
        return "the same bit for bit: do not reorder floating-point sums, and do not change rounding"

    def _gate(self) -> list[str]:
        replays = _RESULTS.get(self.equivalence, "")
        return [
            "The gate checks everything itself. It uses the kernel and the new functions, and nothing else from the source; it "
            "compares all other machine code and the arguments, and checks that the kernel uses no clock or the like to tell "
            "runs apart; "
            + (f"memory after {replays}, outputs overwritten first; " if replays else "")
            + f"the kernel's time, which must fall with confidence by {self.min_improvement:.1%}, on other inputs "
            "as well (by 10 % if "
            f"scratch or spills grow or occupancy falls by more than {self.limits.occupancy:.0%}), but not below the time that "
            "its work takes; and finally the whole program's output and its time, which may rise by "
            f"{self.limits.runtime:.0%} at most.",
            "A kernel that skips work, keeps results from one launch to the next, or only fits the captured input is rejected.",
        ]
