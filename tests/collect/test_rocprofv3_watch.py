"""Which parts of a program's error output are shown while it runs, and which dead processes are not waited for."""

import os
import signal
import subprocess
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rocm_perf_lab.collect import rocprofv3_watch
from rocm_perf_lab.collect.command import resolve
from rocm_perf_lab.collect.execute import execute
from rocm_perf_lab.collect.rocprofv3_log import death
from rocm_perf_lab.collect.rocprofv3_watch import Rocprofv3Watch
from rocm_perf_lab.errors import ProgramKilledError

SIGNED = "W20260101 00:00:00.000000 {pid} tool.cpp:1] "
CAUGHT = SIGNED + "[PPID=1][PID={pid}][TID={pid}][rocprofv3_error_signal_handler] rocprofv3 caught signal 6...\\n"
CHATTER = [
    b"W20260101 00:00:00.000000 17 simple_timer.cpp:55] [rocprofv3] tool initialization ::     0.012345 sec\n",
    b"E20260101 00:00:00.000000 17 generateRocpd.cpp:603] Opened result file: /x/y_results.db (UUID=0)\n",
]
OWN = [
    b"W20260101 00:00:00.000000 17 model.cc:8] cannot open cache file: Permission denied\n",  # it uses glog, too
    b"W", b"\n", b"\r", b"E2026", b"progress 10 %\r", "größer".encode(), b"\xff\x00", b"Opened result file\n", b"done\n",
]  # fmt: skip


@pytest.fixture(autouse=True)
def little_grace(monkeypatch):
    monkeypatch.setattr(rocprofv3_watch, "_GRACE_SECONDS", 2.0)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(st.sampled_from(OWN)), st.data())
def test_the_programs_own_output_is_shown_in_whatever_pieces_it_arrives(tmp_path_factory, pieces, data):
    """Messages of rocprofv3, always whole lines, fall between the program's lines. Oracle: the program's own pieces in
    order."""
    log, shown, own = tmp_path_factory.mktemp("watch") / "log", [], b""
    watch = Rocprofv3Watch(log, "app", shown.append)
    for piece in pieces:
        with log.open("ab") as stream:
            if not own or own.endswith((b"\n", b"\r")):
                stream.write(data.draw(st.sampled_from([b"", *CHATTER])))
            cut = data.draw(st.integers(0, len(piece)))
            stream.write(piece[:cut])
            stream.flush()
            watch.read()
            stream.write(piece[cut:])
        own += piece
    watch.finish()
    assert b"".join(shown) == own


def test_text_that_is_no_notice_is_shown_before_its_line_ends(tmp_path):
    log, shown = tmp_path / "log", []
    watch = Rocprofv3Watch(log, "app", shown.append)
    log.write_bytes(b"epoch 1 ...")
    watch.read()
    assert b"".join(shown) == b"epoch 1 ..."


def run(script: str, log: Path, **options) -> float:
    """Seconds that a watched shell script takes, with its error output in `log`."""
    began = time.monotonic()
    with log.open("ab") as errors:
        execute(resolve(["sh", "-c", script]), os.environ, stdout=subprocess.DEVNULL, stderr=errors, timeout=60,
                on_poll=Rocprofv3Watch(log, "app").look, **options)  # fmt: skip
    return time.monotonic() - began


def notice(text: str) -> str:
    return f'printf "{text.format(pid="$$")}" >&2'


@pytest.mark.parametrize(
    "said",
    [
        CAUGHT,
        "F20260101 00:00:00.000000 {pid} tool.cpp:1]  :: [tool.cpp:1]\\n",
        "*** SIGABRT (@0x1) received by PID {pid} (TID 0x7f) from PID {pid}; stack trace: ***\\n",
        "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x2. Reason: Unknown.\\n",
        ":0:rocdevice.cpp :2881: 1 us: Callback: Queue 0x1 Aborting with error : HSA_STATUS_ERROR_EXCEPTION code: 0x1016\\n",
    ],
)
def test_a_dead_program_is_not_waited_for(tmp_path, said):
    with pytest.raises(ProgramKilledError) as caught:
        run(f"{notice(said)}; exec sleep 30", tmp_path / "log")
    assert caught.value.signal == signal.SIGABRT


def test_a_dead_child_is_ended_and_its_parent_goes_on(tmp_path):
    dead = f"{notice(CAUGHT)}; exec sleep 30"
    script = f"sh -c '{dead}'; [ $? = 137 ] && touch {tmp_path}/went-on"
    assert run(script, tmp_path / "log") < 25 and (tmp_path / "went-on").exists()


def test_a_program_that_recovers_is_not_ended(tmp_path):
    """One worker that is ended by SIGTERM, and one that ends within the grace period."""
    polite = notice(CAUGHT.replace("signal 6", "signal 15"))
    quick = f"sh -c '{notice(CAUGHT)}; sleep 1'"
    assert run(f"{polite}; {quick}; sleep 3", tmp_path / "log") >= 4


def test_a_notice_about_an_unrelated_process_ends_no_process(tmp_path):
    with subprocess.Popen(["sleep", "60"]) as other:
        run(f'printf "{CAUGHT.format(pid=other.pid)}" >&2; sleep 4', tmp_path / "log")
        assert other.poll() is None
        other.kill()


@pytest.mark.parametrize("line", ["Failed: nothing", "F2026", "rocprofv3 caught signal", "a Memory access fault by GPU node-1"])
def test_other_lines_are_no_notice(line):
    assert death(line) is None
