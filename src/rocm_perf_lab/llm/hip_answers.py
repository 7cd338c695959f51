"""Answers in HIP: one kernel, the functions that it adds, and the shape of its launches."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from rocm_perf_lab.hip_source import HipSource
from rocm_perf_lab.hip_source.program_launches import by_file
from rocm_perf_lab.llm.hip_code_block import code_of, launch_of
from rocm_perf_lab.llm.language_protocol import AnsweredChange
from rocm_perf_lab.llm.launch_of_answer import launch_edits
from rocm_perf_lab.llm.splice import splice
from rocm_perf_lab.llm.system_prompt import system_prompt
from rocm_perf_lab.llm.unusable_answer import UnusableAnswer
from rocm_perf_lab.optimize.build_target import reader_of
from rocm_perf_lab.optimize.source_settings import SourceSettings


class HipAnswers:
    name = "hip"
    system = system_prompt(
        "HIP",
        "takes the one fenced C++ block in it, replaces the kernel with it, gives its launches the shape in a fenced block "
        "with the language `launch` if there is one, compiles it and has a gate",
    )
    retry_instruction = (
        "Answer again with exactly one fenced C++ block: the complete kernel, and before it the __device__ functions that you "
        "add; and the block `launch` again, if the launch changes. All rules still hold."
    )
    exactness_instruction = (
        "The results must stay the same bit for bit. A different order of operations, or a multiplication and an addition that "
        "are no longer (or are now) contracted to one fused operation, changes them: __builtin_fmaf makes that explicit."
    )

    def change(self, source: HipSource, name: str, answer: str) -> AnsweredChange | UnusableAnswer:
        kernel, code = source.kernel(name), code_of(answer)
        if isinstance(code, UnusableAnswer):
            return code
        launch = launch_of(answer)
        launches = launch_edits(source, kernel, launch) if isinstance(launch, str) else launch or []
        if isinstance(launches, UnusableAnswer):
            return launches
        own_edits, other_edits = by_file(source, launches)
        return AnsweredChange((splice(kernel, code), *own_edits), tuple(other_edits))

    def reader(self, settings: SourceSettings, source: Path) -> Callable[[bytes], HipSource]:
        return reader_of(settings, source)


HIP = HipAnswers()
