"""The device's layers: what may include what. Errors name file and line, so that the place of a violation is easy to find."""

import re
from pathlib import Path

import pytest

DEVICE = Path(__file__).parents[3] / "native" / "device"

# Each layer may include itself and those named here. `memory` is separate: addresses, allocations and cache tags.
BELOW = {
    "memory": set(),
    "isa": {"memory"},
    "exec": {"isa", "memory"},
    "timing": {"isa", "exec", "memory"},
    "runtime": {"isa", "exec", "timing", "memory"},
    "preload": set(),  # preloaded into programs
}
INCLUDE = re.compile(r'\s*#\s*include\s*"([^"]+)"')
GENERATED = {
    "timing_parameters.inc.h": {"isa/target.h", "timing"},  # the table of the hardware's dimensions and of costs
    "counter_table.inc.h": {"timing"},
}


def includes(folder):
    """(file, line, included file) of every include of a project file, with paths relative to native/device."""
    for path in sorted((DEVICE / folder).rglob("*")):
        if path.suffix not in {".h", ".cpp"}:
            continue
        for number, text in enumerate(path.read_text().splitlines(), 1):
            if found := INCLUDE.match(text):
                yield path.relative_to(DEVICE).as_posix(), number, found[1]


@pytest.mark.parametrize("layer", BELOW)
def test_a_layer_includes_only_itself_and_those_below(layer):
    wrong = []
    for file, line, what in includes(layer):
        if what in GENERATED:
            allowed = file in GENERATED[what] or layer in GENERATED[what]
        else:
            first = what.split("/")[0]
            allowed = first not in BELOW or first == layer or first in BELOW[layer]
        if not allowed:
            wrong.append(f"native/device/{file}:{line} includes {what}")
    assert not wrong, "\n".join(wrong)


def test_every_include_is_a_path_from_the_device_or_from_native():
    """Otherwise the test above could not tell which layer is meant."""
    lost = [
        f"native/device/{file}:{line} includes {what}"
        for layer in BELOW
        for file, line, what in includes(layer)
        if what not in GENERATED and not (DEVICE / what).exists() and not (DEVICE.parent / what).exists()
    ]
    assert not lost, "\n".join(lost)


def test_every_folder_is_a_layer():
    folders = {path.name for path in DEVICE.iterdir() if path.is_dir()} - {"include"}
    assert folders == set(BELOW)


def test_execution_does_not_name_what_timing_has():
    """Only these pointers, which are just passed on, may cross the boundary; a forward declaration could let more across."""
    timing = set()
    for path in (DEVICE / "timing").rglob("*.h"):
        timing |= set(
            re.findall(r"^(?:class|struct|enum class) (\w+)(?: final)?(?: :[^;{]*)? \{", path.read_text(), re.MULTILINE)
        )
    assert {"WaveTiming", "Timeline", "XcdTiming"} <= timing
    wrong = []
    for path in sorted([*(DEVICE / "exec").rglob("*"), *(DEVICE / "isa").rglob("*")]):
        if path.suffix not in {".h", ".cpp"}:
            continue
        for number, text in enumerate(path.read_text().splitlines(), 1):
            code = text.split("//")[0]
            named = timing.intersection(re.findall(r"\w+", code)) - {"WaveTiming", "Timeline", "CauseTimes"}
            wrong += [f"{path.relative_to(DEVICE.parent.parent)}:{number} names {name}" for name in sorted(named)]
    assert not wrong, "\n".join(wrong)
