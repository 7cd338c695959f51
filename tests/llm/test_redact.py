"""Text that leaves the machine or reaches the journal holds no secrets; the compiler here is the real one."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from rocm_perf_lab.cage import CageLimits
from rocm_perf_lab.gate.source.promises import NO_PROMISES, Promises
from rocm_perf_lab.gate.verdict import Verdict, passed, rejected
from rocm_perf_lab.gate.verdict_document import MeasurementEvidence, OtherInputsSection
from rocm_perf_lab.hip_source import read
from rocm_perf_lab.llm.api_keys import ApiKey, take_keys
from rocm_perf_lab.llm.cached_backend import CachedBackend
from rocm_perf_lab.llm.redact import Redactor
from rocm_perf_lab.optimize.builders import complaint


def test_keys_leave_the_environment_and_do_not_show():
    environment = {"OPENAI_API_KEY": " sk-1 \n", "ANTHROPIC_API_KEY": "", "HOME": "/root"}
    keys = take_keys(environment)
    assert environment == {"HOME": "/root"} and list(keys) == ["openai"] and keys["openai"].value == "sk-1"
    assert "sk-1" not in repr(keys) + str(keys["openai"]) + f"{keys}"


def test_values_of_variables_are_replaced_by_names_unless_given_by_the_user():
    environment = {"TOKEN": "abcdefgh12345678", "PREFIX": "abcdefgh", "SHORT": "1234567", "KERNEL": "softmax_naive"}
    redactor = Redactor(
        Path("/somewhere/app"), [ApiKey("k1"), ApiKey("k1-long")], environment, known="void softmax_naive(float*)"
    )
    said = "k1-long k1 abcdefgh12345678 abcdefgh 1234567 softmax_naive /somewhere/app/a.hip:3 /usr/lib/secret/b.h:4"
    assert redactor.text(said) == "*** *** [value of TOKEN] [value of PREFIX] 1234567 softmax_naive a.hip:3 b.h:4"


def test_a_compiler_that_does_not_end_is_reported(tmp_path):
    """Code that takes long to compile is rejected before Clang's library reads it in this process."""
    compiler = tmp_path / "hipcc"
    compiler.write_text("#!/bin/sh\nexec sleep 600\n")
    compiler.chmod(0o755)
    source = read(tmp_path / "a.hip", (str(compiler),), tmp_path, b"int x;\n")
    assert complaint(source, "gfx942", CageLimits(seconds=1.0)).startswith("it did not end within ")


@pytest.mark.usefixtures("hipcc")
def test_only_compiler_messages_about_the_source_are_kept(tmp_path):
    """Files that the user's own source includes are quoted in errors, too."""
    outside, folder = tmp_path / "outside", tmp_path / "project"
    outside.mkdir(), folder.mkdir()
    (outside / "header.h").write_text("template <typename T> int canary(T x) { return x.canary_member; } // canary comment\n")
    source = folder / "a.hip"
    text = '#include "header.h"\n__attribute__((global)) void k(int* p) {\n  p[0] = canary(p);\n  p[1] = wrong_name;\n}\n'
    source.write_text(text)
    words = complaint(read(source, ("hipcc", "-nogpuinc", f"-I{outside}"), folder, text.encode()), "gfx942")
    assert "canary comment" in words and "wrong_name" in words
    kept = Redactor(folder).compiler_words(words, "a.hip")
    assert "use of undeclared identifier 'wrong_name'" in kept and "p[1] = wrong_name" in kept and "a.hip:4" in kept
    assert "canary comment" not in kept and "canary_member" not in kept and str(tmp_path) not in kept
    assert "lines about other files left out" in kept and "rocm-perf-build" not in kept


class Judging:
    """A world whose gate gives the same verdict on everything."""

    def __init__(self, verdict: Verdict):
        self._verdict = verdict

    @contextlib.contextmanager
    def gate(self, source, target):
        yield self

    def judge(self, candidate: bytes, promises: Promises = NO_PROMISES) -> Verdict:
        return self._verdict


def test_a_variable_whose_value_is_a_word_of_the_gate_changes_no_verdict():
    redactor = Redactor(Path("/somewhere/app"), environment={"A": "measurement", "B": "rejected"})
    other = OtherInputsSection(case="/usr/b.h", ratio=0.5, baseline=[2.0], candidate=[1.0], counted=[None])
    for made in (passed, rejected):
        step = made("measurement", "rejected in /somewhere/app/a.hip", MeasurementEvidence(ratio=0.5, other_inputs=other))
        backend = CachedBackend(Judging(Verdict((step,), b"text")), lambda _: None, None, redactor)
        with backend.gate(None, None) as gate:
            shown = gate.judge(b"")
        assert (shown.accepted, shown.ratio, shown.adopted) == (made is passed, 0.5, b"text")
        assert shown.steps[0].reason == "[value of B] in a.hip" and shown.steps[0].evidence.other_inputs.case == "b.h"
