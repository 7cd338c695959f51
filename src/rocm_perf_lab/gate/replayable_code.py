"""Code to be replayed, with the rule by which the host launches it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from rocm_perf_lab.gate.source.launch_rule import LaunchRule, Overlays
from rocm_perf_lab.hip_source.integer_expression import NoValueError
from rocm_perf_lab.isolate import Capture
from rocm_perf_lab.replaying import Case, CaseOutcome, LaunchConfiguration
from rocm_perf_lab.replaying.launch import captured_launch


@dataclass(frozen=True)
class ReplayableCode:
    """file: None for the captured code object. rule: how to launch it; None for the captured shape, whatever the arguments."""

    file: Path | None = None
    rule: LaunchRule | None = None

    def launch(self, capture: Capture, overlays: Overlays = ()) -> LaunchConfiguration | None:
        """The launch with these inputs; None for the captured shape. Raises NoValueError if the host could not launch it."""
        if self.rule is None:
            return None
        launch = self.rule.launch(capture, overlays)
        return None if launch == captured_launch(capture) else launch

    def packet(self, capture: Capture) -> dict[str, list[int]]:
        """`grid` and `workgroup` of the launch with the captured inputs, in work-items. Raises NoValueError."""
        launch = self.launch(capture)
        if launch is None:
            return {name: list(capture.dispatch["packet"][name]) for name in ("grid", "workgroup")}
        return {"grid": launch.items, "workgroup": [*launch.group_size]}

    def replay(
        self, capture: Capture, cases: Sequence[Case], run: Callable[[Sequence[Case]], list[CaseOutcome]], folder: Path
    ) -> list[CaseOutcome]:
        """The outcomes of the cases, each launched by the rule. run: replays the cases that can be launched. folder: the result
        folder to name in the outcomes of the other cases, which have no results.
        """
        shaped = [self._case_with_launch(capture, case) for case in cases]
        runnable = [entry for entry in shaped if isinstance(entry, Case)]
        outcomes = iter(run(runnable) if runnable else ())
        return [next(outcomes) if isinstance(entry, Case) else CaseOutcome(folder, None, entry) for entry in shaped]

    def _case_with_launch(self, capture: Capture, case: Case) -> Case | str:
        try:
            return replace(case, launch=self.launch(capture, case.overlays))
        except NoValueError as error:
            return f"it cannot be launched: {error}"


CAPTURED = ReplayableCode()
