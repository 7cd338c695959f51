"""The section of analysis.json about a thread trace, and its part of the terminal report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from rocm_perf_lab.analysis.thread_trace.findings import Cost, Instruction, SourceLine, ThreadTraceFindings, WaitChain
from rocm_perf_lab.analysis.thread_trace.time_stack import TimeStack, meanings
from rocm_perf_lab.report import thread_trace_schema as schema
from rocm_perf_lab.report.shared_sections import nullable
from rocm_perf_lab.report.terminal_time_stack import lines
from rocm_perf_lab.text import quantities

_MAX_LISTED = 10
NO_LINE = "the code has no line number here: compile with -g"
_MEANING = {True: "stall + issue", False: "stall + execution"}


def thread_trace_section(findings: ThreadTraceFindings) -> schema.ThreadTraceSection:
    """Build the section for a trace whose code could be read."""
    trace = findings.trace
    fields = nullable(
        waves=findings.waves,
        issue_fraction=findings.issue_fraction,
        stall_fraction=findings.stall_fraction,
        idle_fraction=findings.idle_fraction,
        wait_fraction=findings.wait_fraction,
        ipc=findings.ipc,
        valu_fraction=findings.valu_fraction,
        mfma_fraction=findings.mfma_fraction,
        vector_memory_latency_cycles=findings.memory_latency["vector"],
        scalar_memory_latency_cycles=findings.memory_latency["scalar"],
        lds_latency_cycles=findings.memory_latency["lds"],
    )
    reasons = fields["reasons"]
    if fields["waves"] is not None:
        fields["waves"] = int(fields["waves"])
    if trace.dispatch is None:
        reasons["dispatch"] = "the names of the trace's files do not contain it"
    if trace.clock_mhz is None:
        reasons["clock_mhz"] = trace.missing["clock_mhz"]
    if trace.gfxip is None:
        reasons["latency_is"] = trace.missing["gfxip"]
    if findings.waited_for is None:
        reasons["waited_for"] = findings.no_lines or findings.no_chains or "no wave waited for memory that a line accessed"
    if findings.occupancy is None:
        reasons["occupancy"] = findings.no_occupancy or "not known"
    if findings.stack is None:
        reasons["time_stack"] = findings.no_stack or "not known"
    return schema.ThreadTraceSection(
        dispatch=trace.dispatch,
        clock_mhz=trace.clock_mhz,
        latency_is=None if trace.gfxip is None else _MEANING[trace.gfxip == 9],
        truncated_waves=findings.truncated_waves,
        instructions=int(findings.instructions.value or 0),
        mix=findings.mix,
        waited_for=_line(findings.waited_for) if findings.waited_for else None,
        hot_instructions=[_instruction(instruction) for instruction in findings.hot_instructions[:_MAX_LISTED]],
        hot_lines=[_line(line) for line in findings.hot_lines[:_MAX_LISTED]],
        wait_chains=[_chain(chain) for chain in findings.chains[:_MAX_LISTED]],
        occupancy=_occupancy(findings),
        time_stack=time_stack_section(findings.stack) if findings.stack else None,
        notes=_notes(findings),
        **fields,
    )


def _cost(cost: Cost) -> dict[str, int | float]:
    return {
        "hits": cost.hits,
        "latency_cycles": cost.latency,
        "stall_cycles": cost.stall,
        "idle_cycles": cost.idle,
        "share": cost.share,
    }


def _text_and_source(instruction: Instruction) -> dict[str, Any]:
    return _location_fields(instruction.text, instruction.source)


def _location_fields(text: str, source: str) -> dict[str, Any]:
    if source:
        return {"isa": text, "source": source}
    return {"isa": text, "source": None, "reasons": {"source": NO_LINE}}


def _instruction(instruction: Instruction) -> schema.TracedInstruction:
    return schema.TracedInstruction(vaddr=instruction.vaddr, **_text_and_source(instruction), **_cost(instruction.cost))


def _line(line: SourceLine) -> schema.TracedLine:
    return schema.TracedLine(source=line.source, waited_cycles=line.waited, **_cost(line.cost))


def _chain(chain: WaitChain) -> schema.WaitChainSection:
    return schema.WaitChainSection(
        wait=_instruction(chain.wait),
        accesses=[
            schema.WaitedAccess(
                times=access.times, ended=access.ended, waited_cycles=access.waited, **_text_and_source(access.instruction)
            )
            for access in chain.accesses[:_MAX_LISTED]
        ],
        unexplained_cycles=chain.unexplained,
    )


def _occupancy(findings: ThreadTraceFindings) -> schema.WavesOverTime | None:
    over = findings.occupancy
    if over is None:
        return None
    return schema.WavesOverTime(
        start_cycle=over.start, cycles_per_bin=over.width, waves=list(over.waves), mean=over.mean, peak=over.peak
    )


def time_stack_section(stack: TimeStack) -> schema.TimeStackSection:
    """Build the section for a time stack."""
    return schema.TimeStackSection(
        duration_ns=stack.duration_ns,
        parts=[
            schema.StackPart(
                name=part.cause,
                spent_on=meanings()[part.cause].spent_on if part.cause in meanings() else part.cause,
                ns=part.ns,
                share=part.ns / stack.duration_ns,
                first_ns=part.first_ns,
                last_ns=part.last_ns,
            )
            for part in stack.parts
        ],
        rest_ns=stack.rest_ns,
        causes=list(stack.chosen),
        without_ns=list(stack.subset_ns),
        alone_ns=dict(stack.without_ns),
        instructions=[
            schema.InstructionGain(gain_ns=instruction.gain_ns, **_location_fields(instruction.text, instruction.source))
            for instruction in stack.instructions[:_MAX_LISTED]
        ],
        lines=[schema.LineGain(source=line.source, gain_ns=line.gain_ns, by_cause_ns=line.by_cause) for line in stack.lines],
    )


def _notes(findings: ThreadTraceFindings) -> list[str]:
    notes = []
    if findings.truncated_waves:
        notes.append(f"the trace lost instructions of {findings.truncated_waves} waves: what they did later is not in the sums")
    if findings.no_lines:
        notes.append(f"no source lines: {findings.no_lines}")
    if findings.no_chains:
        notes.append(f"what the waits waited for is not known: {findings.no_chains}")
    return notes


def describe(section: schema.ThreadTraceSection, say: Callable[[str], None]) -> None:
    """Print the thread trace's part of the terminal report. say: prints a paragraph."""
    shares = [f"{quantities.percent(section.issue_fraction)} issuing", f"{quantities.percent(section.stall_fraction)} stalled"]
    if section.wait_fraction is not None:
        shares[-1] += f" ({quantities.percent(section.wait_fraction)} in waits and barriers)"
    shares.append(f"{quantities.percent(section.idle_fraction)} idle")
    traced = f"{section.waves} waves" if section.waves is not None else "waves"
    say(f"Thread trace: {traced}, {section.instructions:,} instructions on one CU: {', '.join(shares)}.")
    busy = [f"{section.ipc:.3f} instructions per cycle per SIMD"] if section.ipc is not None else []
    if section.valu_fraction is not None:
        busy.append(f"VALU issuing {quantities.percent(section.valu_fraction)} of the time")
    if section.mfma_fraction:
        busy.append(f"matrix units busy {quantities.percent(section.mfma_fraction)}")
    if section.vector_memory_latency_cycles is not None:
        busy.append(f"{section.vector_memory_latency_cycles:,.0f} cycles per vector memory access that a wave waited for")
    if busy:
        say(f"{'; '.join(busy)}.")
    if section.waited_for is not None:
        say(
            f"Waves wait longest for the accesses of {section.waited_for.source} ({section.waited_for.waited_cycles:,} cycles)."
        )
    elif section.wait_chains and (first := section.wait_chains[0]).accesses:
        say(f"Waves wait longest at `{first.wait.isa}`, for `{first.accesses[0].isa}`; line numbers need -g.")
    if section.time_stack is not None:
        say("Its time, by experiments on the software device (rocm-perf explain says how to reduce each part):")
        for text in lines(section.time_stack):
            say(f"- {text}")
    if section.hot_lines:
        line = section.hot_lines[0]
        say(f"Most cycles: {line.source} ({quantities.percent(line.share)}).")
    elif section.hot_instructions:
        top = section.hot_instructions[0]
        say(f"Most cycles: `{top.isa}` ({quantities.percent(top.share)}).")
