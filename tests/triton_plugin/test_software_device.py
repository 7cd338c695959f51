"""The plug-in's view of the device's interface, against the header that defines it."""

from __future__ import annotations

import re
from pathlib import Path

from rocm_perf_triton import software_device


def test_the_interface_equals_that_of_the_header(repository: Path):
    header = (repository / "native" / "device" / "include" / "rocm_perf_device.h").read_text("utf-8")
    assert int(re.search(r"#define RPD_API_VERSION (\d+)", header)[1]) == software_device._VERSION
    struct = re.sub(r"/\*.*?\*/", "", re.search(r"(?s)typedef struct rpd_api \{(.*?)\} rpd_api;", header)[1], flags=re.DOTALL)
    members = re.findall(r"\(\*(\w+)\)\(|(\w+);", struct)
    names = [function or value for function, value in members]
    ours = [name for name, _ in software_device._Api._fields_]
    assert ours == names[: len(ours)]
