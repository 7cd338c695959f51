"""The built-in tracer on the software device, as the command line drives it."""

import json
import shlex
import threading
import time

import pytest

from rocm_perf_lab import native
from rocm_perf_lab.collect import tracer


@pytest.fixture
def parts(native_dir, tmp_path):
    """A folder of links to the native parts, under a name that ROCr's and the loader's lists would split."""
    folder = tmp_path / "na: tive"
    folder.mkdir()
    for subfolder, name in [("lib", native.DEVICE), ("lib", native.TRACER), ("bin", native.ROCPD_WRITER)]:
        (folder / name).symlink_to(native_dir / subfolder / name)
    return folder


@pytest.fixture
def profile(rocm_perf, testbed, parts, tmp_path):
    (tmp_path / "work").mkdir()

    def run(*arguments, **options):
        environment = {native.NATIVE_DIR_VARIABLE: str(parts)}
        done = rocm_perf("profile", "--device", "gfx942", *arguments, environment=environment, cwd=tmp_path / "work", **options)
        assert done.returncode == 0 or list((tmp_path / "work").iterdir()) == []
        return done

    return run


def replace_writer(parts, script):
    """A writer that runs `script` with $spool once the program is gone. Like the real one, it detaches from its parent at
    once."""
    real = (parts / native.ROCPD_WRITER).resolve()
    (parts / native.ROCPD_WRITER).unlink()
    script = f"spool=$(cat <&3)\n{script.format(real=shlex.quote(str(real)))}"
    (parts / native.ROCPD_WRITER).write_text(f"#!/bin/sh\n( {script} ) &\n")
    (parts / native.ROCPD_WRITER).chmod(0o755)


def test_every_requested_run_happens_and_leaves_a_trace(profile, testbed, tmp_path):
    """The program appends to a file, which is the only reliable count of how often it ran."""
    script = f"echo x >> {tmp_path}/runs; exec {testbed('vcopy')}"
    done = profile("--runs", "2", "--json", "sh", "-c", script)
    assert done.returncode == 0, done.stderr
    result = json.loads(done.stdout)
    assert (tmp_path / "runs").read_text() == "x\n" * 3, "two runs for times, one for the thread trace"
    assert result["profile"]["timing"] == "modelled" and result["profile"]["stability"]["runs"] == 2
    (traces,) = (tmp_path / "work").glob("sh-*.rocm-perf/.rocpd_profile")
    assert sorted(path.name for path in traces.glob("*.db")) == ["base_results.db", "repeat_1_results.db"]


def test_a_slow_writer_is_waited_for(profile, testbed, parts):
    replace_writer(parts, 'sleep 1; {real} "$spool"')
    assert profile("--runs", "1", "--quiet", testbed("vcopy")).returncode == 0


def test_a_writer_may_take_any_time_as_long_as_it_makes_progress(tmp_path):
    """It takes three times as long as the limit for a writer that does nothing."""
    (tmp_path / "a.db.spool").touch()

    def write():
        for _ in range(12):
            (tmp_path / "a.db.partial").touch()
            time.sleep(0.1)
        (tmp_path / "a.db.spool").unlink()

    writer = threading.Thread(target=write)
    writer.start()
    assert tracer._await_writers(tmp_path, 0.4)
    writer.join()
    (tmp_path / "a.db.spool").touch()
    assert not tracer._await_writers(tmp_path, 0.2)


def test_a_writer_that_fails_is_quoted(profile, testbed, parts):
    replace_writer(parts, 'echo "the disk is on fire" > "${{spool%.spool}}.error"')
    done = profile(testbed("vcopy"))
    assert done.returncode == 71 and "the disk is on fire" in done.stderr


def test_a_program_that_fails_after_its_kernels_gives_one_line(profile, testbed, parts):
    replace_writer(parts, 'sleep 0.5; {real} "$spool"')
    done = profile("sh", "-c", f"{testbed('vcopy')}; exit 3")
    assert done.returncode == 31
    assert [line for line in done.stderr.splitlines() if "tracer" in line and "collector" not in line] == []


def test_more_than_one_process(profile, testbed):
    done = profile("--runs", "1", "sh", "-c", f"{testbed('vcopy')}; {testbed('vcopy')}")
    assert done.returncode == 0 and "only the first is analysed" in done.stderr
