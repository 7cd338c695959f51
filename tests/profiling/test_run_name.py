from pathlib import Path

import pytest

from rocm_perf_lab.collect.command import Command
from rocm_perf_lab.profiling.run_name import of_command, of_trace, replaced


def command(*words: str) -> Command:
    return Command(words, Path("/bin/true"), words[0])


@pytest.mark.parametrize(
    ("words", "name"),
    [(("./app", "512"), "app"), (("../b/app",), "app"), (("app",), "app"), (("python3", "-u", "train.py", "x"), "train.py"),
     (("sh", "run.sh"), "run.sh"), (("./v/bin/python3.14", "train.py"), "train.py")],
)  # fmt: skip
def test_a_program_or_the_script_that_it_runs(words, name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for script in ("train.py", "run.sh"):
        Path(script).touch()
    assert of_command(command(*words)) == Path(f"{name}.rocm-perf")


def test_commands_of_an_interpreter_have_different_names():
    names = {of_command(command("sh", "-c", text)) for text in ("./a", "./b", "./a")}
    assert len(names) == 2 and all(name.name.startswith("sh-") for name in names)
    assert of_command(command("/v/bin/python", "-c", "pass")).name.startswith("python-")


def test_databases_of_run_directories_have_different_names():
    traces = [Path(folder, ".rocpd_profile", "base_results.db") for folder in ("A.rocm-perf", "/x/B.rocm-perf", "old")]
    assert [str(of_trace(trace)) for trace in traces] == [f"{name}.analysis.rocm-perf" for name in ("A", "B", "old")]
    assert of_trace(Path("traces/7_results.db")) == Path("7.rocm-perf")


def test_characters_that_are_replaced(tmp_path):
    assert replaced(tmp_path, command("./app", "2")) is None
    (tmp_path / "profile.json").write_text('{"run": {"command": "./app 1"}}')
    assert replaced(tmp_path, command("./app", "2")) == "./app 1"
    assert replaced(tmp_path, command("./app", "1")) is None
    assert replaced(tmp_path, command("../other/app", "1")) == "./app 1"
    assert replaced(tmp_path, command("./starts_app.sh")) is None
    for damaged in ("", "[]", '{"run": 3}', '{"run": {"command": ""}}', '{"run": {"command": 1}}'):
        (tmp_path / "profile.json").write_text(damaged)
        assert replaced(tmp_path, command("./app", "2")) is None
