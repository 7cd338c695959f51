"""Every way in which a profile can fail gives one clear line, its own exit code, and no run directory."""

import functools
import os
import signal
import subprocess
import sys
import time

import pytest

from privilege import without_privilege
from rocm_perf_lab.errors import exit_codes


@pytest.fixture
def profile(rocm_perf, inert_native, tmp_path):
    """Profiles on the software device with parts that do nothing, and checks what holds for every failure."""

    def run(*arguments, **options):
        done = rocm_perf("profile", "--device", "gfx942", *arguments, environment=inert_native, **options)
        errors = [line for line in done.stderr.splitlines() if line.startswith("rocm-perf: error: ")]
        assert len(errors) == (done.returncode != 0), done.stderr
        assert done.returncode in dict(exit_codes())
        assert "Traceback" not in done.stderr
        assert [path.name for path in tmp_path.iterdir() if "rocm-perf" in path.name] == []
        return done.returncode, "".join(errors)

    return run


def test_program_that_fails_names_its_status(profile, compile_c):
    code, line = profile(compile_c("fails", "int main() { return 3; }"))
    assert code == 31 and "fails exited with status 3" in line


def test_program_that_is_killed_names_the_signal(profile, compile_c):
    program = compile_c("killed", "#include <signal.h>\nint main() { return raise(SIGKILL); }")
    code, line = profile(program)
    assert code == 32 and "SIGKILL" in line


def test_program_that_aborts_names_the_signal(profile, compile_c):
    code, line = profile(compile_c("aborts", "#include <stdlib.h>\nint main() { abort(); }"))
    assert code == 32 and "SIGABRT" in line


def test_program_that_takes_too_long_is_stopped(profile):
    begin = time.monotonic()
    code, line = profile("--timeout", "0.3", "sleep", "60")
    assert code == 33 and "sleep" in line and "--timeout" in line
    assert time.monotonic() - begin < 30


def test_program_without_kernels(profile):
    code, line = profile("true")
    assert code == 34 and "true never started the ROCm runtime" in line


@pytest.mark.parametrize("words", [["./missing", "argument"], ["./missing argument"], ["no-such-program-on-path"]])
def test_missing_program(profile, words):
    code, line = profile(*words)
    assert code == 66 and words[0].split()[0] in line


def test_file_that_is_not_executable(profile, tmp_path):
    (tmp_path / "data").write_text("no program")
    code, line = profile("./data")
    assert code == 66 and "chmod +x" in line


def test_file_that_is_no_program_for_this_machine(profile, tmp_path):
    (tmp_path / "foreign").write_bytes(b"\x7fELF" + bytes(60))
    (tmp_path / "foreign").chmod(0o755)
    code, line = profile("./foreign")
    assert code == 66 and "foreign" in line


def test_directory_in_place_of_a_program(profile):
    code, line = profile("/tmp")
    assert code == 66 and "/tmp is a folder" in line


def test_program_in_this_folder_without_dot_slash(profile, tmp_path):
    (tmp_path / "application").write_text("#!/bin/sh\n")
    (tmp_path / "application").chmod(0o755)
    code, line = profile("application")
    assert code == 66 and "./application" in line


@pytest.mark.parametrize(
    "arguments",
    [[], ["--runs", "0", "true"], ["--no-such-option", "true"], ["--json", "--quiet", "true"], ["'unbalanced quote"]],
)
def test_wrong_command_line(profile, arguments):
    assert profile(*arguments)[0] == 2


def test_missing_native_parts_name_the_folder_and_the_fix(rocm_perf, tmp_path):
    done = rocm_perf("profile", "--device", "gfx942", "true", environment={"ROCM_PERF_LAB_NATIVE_DIR": str(tmp_path / "none")})
    assert done.returncode == 69
    assert str(tmp_path / "none") in done.stderr and "cmake" in done.stderr


@pytest.mark.skipif(os.path.exists("/dev/kfd"), reason="this machine has a GPU driver")
def test_no_hardware(profile):
    code, line = profile("--device", "hardware", "true")
    assert code == 69 and "/dev/kfd" in line and "--device gfx942" in line


def test_folder_that_is_not_a_run_is_never_replaced(profile, tmp_path):
    (tmp_path / "precious").mkdir()
    (tmp_path / "precious" / "thesis.tex").write_text("years of work")
    code, line = profile("-o", "precious", "true")
    assert code == 73 and "precious" in line
    assert (tmp_path / "precious" / "thesis.tex").read_text() == "years of work"


def test_folder_that_may_not_be_written(profile, tmp_path):
    (tmp_path / "locked").mkdir(mode=0o555)
    assert profile("-o", "locked/run", "true", preexec_fn=without_privilege)[0] == 73


def test_folder_that_does_not_exist(profile):
    code, line = profile("-o", "nowhere/run", "true")
    assert code == 73 and "mkdir -p" in line


@pytest.mark.skipif(not os.access("/proc/sys", os.R_OK), reason="no /proc")
def test_file_system_that_accepts_no_files(profile):
    assert profile("-o", "/proc/run", "true")[0] == 73


@pytest.mark.parametrize("number, code", [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGHUP, 129)])
def test_interrupt_leaves_no_process_and_no_directory(number, code, inert_native, compile_c, process_is_gone, tmp_path):
    """The program starts a child and ignores signals that can be ignored: both must end with rocm-perf."""
    program = compile_c(
        "stubborn",
        """
        #include <signal.h>
        #include <stdio.h>
        #include <unistd.h>
        int main() {
          signal(SIGINT, SIG_IGN); signal(SIGTERM, SIG_IGN); signal(SIGHUP, SIG_IGN);
          int child = fork();
          if (child) {
            FILE* f = fopen("pids.new", "w");
            fprintf(f, "%d %d", getpid(), child);
            fclose(f);
            rename("pids.new", "pids");
          }
          for (;;) pause();
        }""",
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "rocm_perf_lab", "profile", "--device", "gfx942", str(program)],
        cwd=tmp_path, env=os.environ | inert_native, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    _wait_until((tmp_path / "pids").exists)
    process.send_signal(number)
    assert process.wait(30) == code
    assert "Traceback" not in process.stderr.read()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["pids"]
    for pid in map(int, (tmp_path / "pids").read_text().split()):
        _wait_until(functools.partial(process_is_gone, pid))


def _wait_until(condition, seconds=20.0):
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_help_lists_every_exit_code(rocm_perf):
    text = rocm_perf("--help").stdout
    for code, meaning in exit_codes():
        assert f"{code} " in text and meaning.split()[0] in text


def test_debug_adds_the_traceback_only_as_an_option_of_rocm_perf(rocm_perf):
    assert "Traceback" in rocm_perf("profile", "--debug", "./missing").stderr
    assert "Traceback" not in rocm_perf("profile", "--", "./missing", "--debug").stderr


def test_closed_streams_and_a_full_disk_behind_the_output(tmp_path):
    command = f"{sys.executable} -m rocm_perf_lab"
    shell = functools.partial(subprocess.run, shell=True, cwd=tmp_path, text=True, timeout=120)
    done = shell(f"{command} analyze --json none.db 2>&-", stdout=subprocess.PIPE)
    assert (done.returncode, done.stdout) == (66, "")  # the error is lost, but never written to the output
    done = shell(f"{command} optimize ./app <&-", capture_output=True)
    assert done.returncode == 2 and "--auto-approve" in done.stderr
    done = shell(f"{command} counters > /dev/full", stderr=subprocess.PIPE)
    assert done.returncode == 73 and "No space left" in done.stderr and len(done.stderr.splitlines()) == 1
