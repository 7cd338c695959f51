"""The part of a prompt about where waves spend their cycles: hot lines with their text, hot instructions, and the accesses that
waves wait for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rocm_perf_lab.prompt.markdown import fenced
from rocm_perf_lab.report.terminal_time_stack import line_in_words
from rocm_perf_lab.report.thread_trace import describe
from rocm_perf_lab.report.thread_trace_schema import (
    ThreadTraceSection,
    TimeStackSection,
    TracedInstruction,
    WaitChainSection,
)
from rocm_perf_lab.text import quantities
from rocm_perf_lab.text.names import shorten

if TYPE_CHECKING:
    from rocm_perf_lab.prompt.context import Context

_FEW, _MANY, _ACCESSES = 3, 8, 3


def hot_spots(context: Context, compact: bool) -> list[str]:
    """The section on hot spots. Instructions and lines are in fenced blocks, like everything that comes from the program."""
    lines, trace = ["## Where its waves spend their cycles", ""], context.analysis.thread_trace
    if trace is None:
        return [*lines, f"Not known: {shorten(context.analysis.reasons['thread_trace'])}."]
    limit = _FEW if compact else _MANY
    if not compact:
        describe(trace, lines.append)
        lines.append("")
    if trace.time_stack is not None and trace.time_stack.lines:
        lines += ["Source lines by experiment (time saved without the line, and without single causes in it):", ""]
        lines += [fenced("\n".join(_by_experiment(context, trace.time_stack, limit))), ""]
    if trace.hot_lines:
        lines += ["Source lines (share of the waves' cycles; cycles that waves waited for the line's accesses):", ""]
        lines += [fenced("\n".join(_lines(context, trace, limit)))]
    elif not trace.hot_instructions:
        lines.append("The trace contains no instructions.")
    if compact and trace.hot_lines:
        return lines
    lines += ["", "Instructions (share of the waves' cycles, executions):", ""]
    lines.append(fenced("\n".join(_instruction(instruction) for instruction in trace.hot_instructions[:limit])))
    if trace.wait_chains:
        lines += ["", "Waits (cycles that waves stalled there, then the accesses that ended the waits):", ""]
        lines.append(fenced("\n".join(line for chain in trace.wait_chains[:limit] for line in _chain(chain))))
    lines += [f"- {note}." for note in trace.notes]
    return lines


def _by_experiment(context: Context, stack: TimeStackSection, limit: int) -> list[str]:
    texts = context.code.lines
    return [f"{line_in_words(stack, line)}  {shorten(texts.get(line.source, ''))}".rstrip() for line in stack.lines[:limit]]


def _lines(context: Context, trace: ThreadTraceSection, limit: int) -> list[str]:
    texts = context.code.lines
    return [
        f"{quantities.percent(line.share):>7}  {line.waited_cycles:>10,}  {line.source}  "
        f"{shorten(texts.get(line.source, ''))}".rstrip()
        for line in trace.hot_lines[:limit]
    ]


def _instruction(instruction: TracedInstruction) -> str:
    share, source = quantities.percent(instruction.share), instruction.source or ""
    return f"{share:>7}  {instruction.hits:>8,} x  {instruction.isa}  {source}".rstrip()


def _chain(chain: WaitChainSection) -> list[str]:
    lines = [f"{chain.wait.stall_cycles:>10,}  {chain.wait.isa}  {chain.wait.source or ''}".rstrip()]
    for access in chain.accesses[:_ACCESSES]:
        lines.append(f"{access.waited_cycles:>14,}  {access.isa}  {access.source or ''}".rstrip())
    if chain.unexplained_cycles:
        lines.append(f"{chain.unexplained_cycles:>14,}  unexplained")
    return lines
