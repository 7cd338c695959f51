import subprocess

import pytest


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_asks_the_command_for_completions(rocm_perf, shell):
    assert f"_ROCM_PERF_COMPLETE={shell}_complete" in rocm_perf("completion", shell).stdout


def test_bash_accepts_the_script_and_the_command_answers_it(rocm_perf):
    script = rocm_perf("completion", "bash").stdout
    assert subprocess.run(["bash", "-n"], input=script, text=True).returncode == 0
    words = {"_ROCM_PERF_COMPLETE": "bash_complete", "COMP_WORDS": "rocm-perf prof", "COMP_CWORD": "1"}
    assert rocm_perf(environment=words).stdout == "plain,profile\n"
