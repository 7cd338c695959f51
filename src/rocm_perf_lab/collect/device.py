"""The device on which a program runs, and the environment that selects it.

A device specifies the environment variables that ROCr needs. Only this module decides how they differ between a GPU and the
software device.
"""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rocm_perf_lab import native, rocm
from rocm_perf_lab.arch.families import family_of
from rocm_perf_lab.arch.products import Product, products
from rocm_perf_lab.arch.timing_parameters import CALIBRATED_TARGET, timing_parameters
from rocm_perf_lab.collect import gpu, inherited_limits, progress_line, triton
from rocm_perf_lab.collect.amd_smi_stand_in import write_amd_smi
from rocm_perf_lab.collect.topology import write_topology
from rocm_perf_lab.errors import UnavailableError, UsageError

AUTO, HARDWARE, SOFTWARE_TARGET = "auto", "hardware", "gfx942"

# The `--device` choices that select the software device, each with the product whose target and size the device has. With a
# colon and a number, as in "gfx942:4", they select that many devices.
SOFTWARE_PRODUCTS = {
    SOFTWARE_TARGET: "mi300x",
    "mi300a": "mi300a",
    "gfx90a": "mi250x",
    "gfx1030": "rx6800xt",
    "gfx950": "mi355x",
}
_FEATURES_OF_CDNA = ("sramecc+", "xnack-")  # modes of the target as ROCr writes them, as in "gfx942:sramecc+:xnack-"

# These variables select or relabel the machine's physical GPUs, which do not include the software device. If there are several
# software devices, the variables that select GPUs apply to them.
RELABELS_VARIABLE = "HSA_OVERRIDE_GFX_VERSION"
_SELECTS_GPUS = ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL")
_MODEL_VARIABLES = ("HSA_MODEL_TOPOLOGY", "HSA_MODEL_LIB", "HSA_MODEL_MEMFILE")

_TOOLS_VARIABLE = "HSA_TOOLS_LIB"

# AMD's builds of ROCr support two kinds of tools. If a tool has registered itself (such as rocprofv3's, or a profiler that
# comes with the program), the libraries in HSA_TOOLS_LIB are ignored unless this variable is set.
_ALSO_BESIDE_REGISTERED_TOOLS = "HSA_TOOLS_ROCPROFILER_V1_TOOLS"


# RCCL requires this setting for a GPU whose firmware it does not know.
_FOR_RCCL = {"HSA_NO_SCRATCH_RECLAIM": "1"}

# The options of the software device, separated by commas.
OPTIONS_VARIABLE = "ROCM_PERF_DEVICE_OPTIONS"

# The device's race check appends its findings, one per line, to the file named by the first variable, and the address ranges
# that each dispatch wrote to the file named by the second.
RACES_VARIABLE = "ROCM_PERF_DEVICE_RACES"
WRITTEN_VARIABLE = "ROCM_PERF_DEVICE_WRITTEN"

# This variable names the file for findings of the memory check: a kernel's accesses to memory that its program does not own.
FOREIGN_ACCESSES_VARIABLE = "ROCM_PERF_DEVICE_FOREIGN_ACCESSES"

# This variable names the file that receives the reasons for kernel failures, whether or not the program notices them.
FAILURES_VARIABLE = "ROCM_PERF_DEVICE_FAILURES"

# The device writes thread traces of the kernels selected by the second variable into the folder named by the first.
THREAD_TRACE_VARIABLE = "ROCM_PERF_THREAD_TRACE"
THREAD_TRACE_KERNEL_VARIABLE = "ROCM_PERF_THREAD_TRACE_KERNEL"
THREAD_TRACE_ITERATION_VARIABLE = "ROCM_PERF_THREAD_TRACE_ITERATION"
THREAD_TRACE_ALSO_VARIABLE = "ROCM_PERF_THREAD_TRACE_ALSO"
THREAD_TRACE_CU_VARIABLE = "ROCM_PERF_THREAD_TRACE_CU"
THREAD_TRACE_SIMDS_VARIABLE = "ROCM_PERF_THREAD_TRACE_SIMDS"

# Restricts kernels to their program's own memory; the gate enables it wherever it runs code that it judges.
MEMORY_CHECK = "memory-check"

# This variable names the file to which HIP logs errors; each process appends its id to the name. If it is not set, HIP logs to
# standard error.
HIP_LOG_VARIABLE = "AMD_LOG_LEVEL_FILE"
_HIP_LOG_LEVEL_VARIABLE, _HIP_ERRORS = "AMD_LOG_LEVEL", "1"

# The contents of registers, LDS and private memory before a kernel writes them: random words from a seed, or zeros for seed 0.
INITIAL_VALUES = "initial-values"
UNORDERED_ATOMICS = "unordered-atomics"
_OF_RACE_CHECK = ("race-check", UNORDERED_ATOMICS)
_RACE_CHECKED_FAMILIES = ("cdna2", "cdna3", "cdna4")  # the race check knows what orders memory accesses in their code

# Computes times at the clock rate that the product's power limit allows under a load that lasts several seconds.
SUSTAINED = "sustained"

# What is counted and timed: everything; only a sample of the XCDs, either in all dispatches that are not small or only in those
# that take a long time; or nothing, so that programs run faster and every kernel takes a fixed time.
OBSERVE = "observe"
NO_OBSERVATION = f"{OBSERVE}=none"
SAMPLE_IF_LARGE = f"{OBSERVE}=auto"
UNOBSERVED_KERNEL = "1 us"

PEER_LINK = "peer_link_gbps"  # a parameter of the timing model

TIMING = "timing."  # the prefix of options that adjust a parameter of the timing model

# Options of the software device and the form of their values; native/device/runtime/options.h describes them, except for
# SUSTAINED, which sets a parameter of the timing model.
OPTIONS = {
    "deadlock-after": re.compile(r"=[0-9]{1,9}"),
    "flush-l2": re.compile(""),
    INITIAL_VALUES: re.compile(r"=[0-9]{1,19}"),
    "kernel-limit": re.compile(r"=[1-9][0-9]{0,18}"),
    "lds-check": re.compile(""),
    MEMORY_CHECK: re.compile(""),
    OBSERVE: re.compile("=(all|auto|sampled|none)"),
    "race-check": re.compile(r"(=[0-9]{1,19})?"),
    SUSTAINED: re.compile(""),
    "timed-cu": re.compile(r"=[0-9]{1,19}"),
    UNORDERED_ATOMICS: re.compile(""),
}


@dataclass(frozen=True)
class Device:
    """A device for programs. target: the LLVM target of the (first) GPU. features: its known features, such as "xnack-".
    variables, removed_variables, tools, preloads, programs: how a program's environment must be changed.
    """

    is_hardware: bool
    target: str
    description: str
    variables: Mapping[str, str]
    removed_variables: tuple[str, ...]
    tools: tuple[Path, ...]
    features: tuple[str, ...] = ()
    further_targets: tuple[str, ...] = ()  # the targets of the other GPUs
    preloads: tuple[Path, ...] = ()
    programs: Path | None = None  # a folder that comes first in PATH

    def environment(self, base: Mapping[str, str], tools: tuple[Path, ...] = ()) -> dict[str, str]:
        """`base` changed so that ROCr uses this device and loads `tools` (HSA tools libraries) after the device's own libraries
        and before those that `base` already names.
        """
        environment = {name: value for name, value in base.items() if name not in self.removed_variables}
        environment |= self.variables
        if not self.is_hardware:
            environment |= triton.variables(base, self.target)
        if libraries := [*self.tools, *tools]:
            inherited = map(Path, base.get(_TOOLS_VARIABLE, "").split())
            libraries += [library for library in inherited if library not in libraries and not native.is_tools_library(library)]
            environment[_TOOLS_VARIABLE] = " ".join(map(str, libraries))
            environment[_ALSO_BESIDE_REGISTERED_TOOLS] = "1"
        if self.programs:
            environment["PATH"] = os.pathsep.join(filter(None, (str(self.programs), base.get("PATH", os.defpath))))
        if self.preloads:
            environment["LD_PRELOAD"] = " ".join(filter(None, (*map(str, self.preloads), base.get("LD_PRELOAD"))))
        return environment


def select(
    choice: str,
    scratch: Path,
    options: Sequence[str] = (),
    *,
    sample_if_large: bool = False,
    code: str | None = None,
    several: bool = False,
    for_profilers: bool = False,
) -> Device:
    """The device that `--device choice` selects; the files it needs are written to `scratch`, which must outlive the runs.

    options: each is "NAME" or "NAME=VALUE" from OPTIONS; only the software device has any. sample_if_large: unless the options
    say what the software device observes, it observes only a sample of each dispatch that takes a long time. code: the target
    of the code to run, which decides what `auto` means if there is no GPU. several: whether the choice may name several
    software devices, such as "gfx942:4". for_profilers: make software devices work with AMD's profilers, which look for GPUs at
    a level below ROCr (always done for several devices). Raises UnavailableError if there is no such device, UsageError if the
    device does not have one of the options, or UnsuitableEnvironmentError if programs could not run.
    """
    gpus = gpu.find()
    name, count = software_devices(choice, several=several)
    software = name in SOFTWARE_PRODUCTS or (choice == AUTO and not gpus.usable)
    inherited_limits.check(software)
    if software:
        if sample_if_large and not _says_what_to_observe(options):
            options = (*options, SAMPLE_IF_LARGE)
        product_key = SOFTWARE_PRODUCTS[name if choice != AUTO else software_choice(code)]
        return _software(scratch, options, product_key, count, for_profilers=for_profilers or count > 1)
    if options:
        raise UsageError(f"--device-option {options[0]}: a GPU has no such options", f"add `--device {SOFTWARE_TARGET}`")
    if not gpus.usable:
        raise UnavailableError(f"no GPU can be used: {gpus.obstacle}", f"use `--device {SOFTWARE_TARGET}`, the software device")
    first, *other_targets = gpus.targets
    return Device(True, first, " + ".join(gpus.targets), _hip_log(scratch), _MODEL_VARIABLES, (), (), tuple(other_targets))


def software_devices(choice: str, *, several: bool = True) -> tuple[str, int]:
    """The parts of a choice such as "gfx942:4": the name and the number of devices. Raises UsageError for a number after
    anything but a software device, for more devices than the model supports, and for more than one if `several` is false.
    """
    name, colon, number = choice.partition(":")
    if not colon:
        return choice, 1
    if name not in SOFTWARE_PRODUCTS:
        raise UsageError(f"--device {choice}: only software devices accept a number", f"write {SOFTWARE_TARGET}:2")
    most = max_devices(name)
    if not re.fullmatch("[1-9][0-9]?", number) or int(number) > most:
        raise UsageError(f"--device {choice}: there can be 1 to {most} of them", f"write {name}:{most}, or fewer")
    if int(number) > 1 and not several:
        raise UsageError(f"--device {choice}: only `profile` and `run` take several devices", f"write {name}")
    return name, int(number)


def max_devices(name: str) -> int:
    """The maximum number of software devices of one kind that a program can have."""
    most: int = _product(SOFTWARE_PRODUCTS[name]).figures["peers"]["most"]
    return most


def software_choice(target: str | None) -> str:
    """The `--device` choice that runs code for `target`, such as "gfx90a:xnack-"; the default software device if none does."""
    processor = target.partition(":")[0] if target else SOFTWARE_TARGET
    return processor if processor in SOFTWARE_PRODUCTS else SOFTWARE_TARGET


def has_race_check(target: str) -> bool:
    """Whether the race check knows what orders memory accesses in code for this LLVM target."""
    family = family_of(target)
    return family is not None and family.name in _RACE_CHECKED_FAMILIES


def expect_race_check(device: Device) -> None:
    """Raises UnavailableError for a software device whose code the race check does not understand."""
    if not device.is_hardware and not has_race_check(device.target):
        raise UnavailableError(
            f"the race check, which is part of a full judgement, does not support code for {device.target}",
            f"compile for {SOFTWARE_TARGET} and use `--device {SOFTWARE_TARGET}`, or judge without it: --equivalence sampled",
        )


def _hip_log(scratch: Path) -> dict[str, str]:
    """Variables for HIP's error log; none if the user has already configured that log."""
    if _HIP_LOG_LEVEL_VARIABLE in os.environ or HIP_LOG_VARIABLE in os.environ:
        return {}
    return {_HIP_LOG_LEVEL_VARIABLE: _HIP_ERRORS, HIP_LOG_VARIABLE: str(scratch / "hip-log")}


def _checked(option: str, target: str, product: Mapping[str, Any]) -> str:
    """The option in the form that the device expects. Raises UsageError if the device does not accept it."""
    name, equals, value = option.partition("=")
    if name.startswith(TIMING):
        return _checked_parameter(option, name.removeprefix(TIMING), value, target)
    takes = OPTIONS.get(name)
    if takes is None:
        raise UsageError(
            f"--device-option {option}: there is no such option", f"use one of {', '.join(OPTIONS)}, {TIMING}NAME=VALUE"
        )
    if name in _OF_RACE_CHECK and not has_race_check(target):
        raise UsageError(
            f"--device-option {option}: the race check does not support code for {target}",
            f"compile for {SOFTWARE_TARGET}, and use `--device {SOFTWARE_TARGET}`",
        )
    if not takes.fullmatch(equals + value):
        message, hint = _expected(name, takes)
        raise UsageError(f"--device-option {option}: {message}", f"write {hint}")
    return _sustained(option, target, product) if name == SUSTAINED else option


def _sustained(option: str, target: str, product: Mapping[str, Any]) -> str:
    if target != CALIBRATED_TARGET:
        raise UsageError(f"--device-option {option}: the energies of a {target} are not known", "leave the option out")
    return f"{TIMING}power_limit_w={product['board_power_w']}"


def _expected(name: str, takes: re.Pattern[str]) -> tuple[str, str]:
    """What is wrong with a value that an option does not accept, and what to write instead."""
    if name == OBSERVE:
        return "it must be all, auto, sampled or none", f"{OBSERVE}=sampled"
    if takes.fullmatch("=1"):
        return "not a whole number", f"{name}=NUMBER"
    return "it takes no value", name


def _options_or_environment(options: Sequence[str]) -> Sequence[str]:
    return options or os.environ.get(OPTIONS_VARIABLE, "").split(",")


def _says_what_to_observe(options: Sequence[str]) -> bool:
    # Options given here replace all options in the environment, so adding one here would discard those.
    effective = [option for option in _options_or_environment(options) if option]
    return any(option.startswith(f"{OBSERVE}=") for option in effective) or bool(effective and not options)


def require_observation(options: Sequence[str], who: str) -> None:
    """Raises UsageError if the software device is told to observe nothing, although `who` (such as "profile") needs
    counters and times.
    """
    if NO_OBSERVATION in _options_or_environment(options):
        raise UsageError(f"--device-option {NO_OBSERVATION}: {who} needs counters and times", "leave the option out")


def _checked_parameter(option: str, name: str, value: str, target: str) -> str:
    adjustable = {name: entry for name, entry in timing_parameters(target).items() if entry.get("adjustable")}
    if name not in adjustable:
        like = difflib.get_close_matches(name, adjustable, 3, 0.5) or sorted(adjustable)
        raise UsageError(
            f"--device-option {option}: the timing model has no adjustable parameter of that name",
            f"use {' or '.join(TIMING + name for name in like)}" if len(like) <= 3 else f"use one of {', '.join(like)}",
        )
    usual = adjustable[name]["value"]
    form = re.compile(r"[1-9][0-9]{0,11}" if isinstance(usual, int) else r"(?=.*[1-9])[0-9]{1,9}(\.[0-9]{1,9})?")
    if not form.fullmatch(value) or float(value) > adjustable[name].get("most", float(value)):
        most = f" of at most {adjustable[name]['most']}" if "most" in adjustable[name] else ""
        kind = "whole number" if isinstance(usual, int) else "number"
        raise UsageError(f"--device-option {option}: not a positive {kind}{most}", f"write {TIMING}{name}={usual}")
    return option


def _product(key: str) -> Product:
    return next(product for product in products() if product.key == key)


def _software(scratch: Path, options: Sequence[str], product_key: str, count: int, *, for_profilers: bool) -> Device:
    product = _product(product_key)
    target: str = product.figures["gfx_target"]
    of_product = [f"{TIMING}{name}={value}" for name, value in product.figures.get("timing", {}).items()]
    checked = ",".join((*of_product, *(_checked(option, target, product.figures) for option in options)))
    runtime = rocm.find_library(rocm.RUNTIME)
    if runtime is not None and not rocm.has_model_interface(runtime):
        raise UnavailableError(
            f"{runtime} cannot run a software device (it has no model interface)",
            "use ROCm 7.1 or newer; `rocm-perf setup` installs it (in a clone: `./dev shell`)",
        )
    library = loadable(native.device_library(), scratch)
    link_gbps = product.figures.get("timing", {}).get(PEER_LINK) or timing_parameters(target)[PEER_LINK]["value"]
    topology = write_topology(scratch / "topology", product.figures, count, link_gbps)
    return Device(
        False,
        target,
        (f"{count} x " if count > 1 else "") + f"software {target}" + (f" ({product.name})" if of_product else ""),
        {"HSA_MODEL_TOPOLOGY": str(topology), "HSA_MODEL_LIB": str(library)}
        | (_FOR_RCCL if count > 1 else {})
        | ({OPTIONS_VARIABLE: checked} if checked else {})
        | progress_line.variables(scratch)
        | _hip_log(scratch),
        (() if count > 1 else _SELECTS_GPUS) + (RELABELS_VARIABLE, *_MODEL_VARIABLES),
        (library,),
        _FEATURES_OF_CDNA if product.family.startswith("cdna") else (),
        (target,) * (count - 1),
        (loadable(native.preload_library(), scratch),) if for_profilers else (),
        write_amd_smi(scratch / "bin", product.figures, count) if for_profilers else None,
    )


def loadable(library: Path, scratch: Path) -> Path:
    """A path to `library` without characters that are special in HSA_TOOLS_LIB or LD_PRELOAD; if necessary, a link to it."""
    if not any(character in str(library) for character in ' :"\\'):
        return library
    link = scratch / library.name
    if not link.is_symlink():
        link.symlink_to(library)
    return link
