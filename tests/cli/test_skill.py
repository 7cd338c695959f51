"""`rocm-perf skill`: installed completely, replaced by a newer version, and never in place of something else."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def skill(rocm_perf, tmp_path):
    def run(*arguments: str):
        return rocm_perf("skill", *arguments, environment={"HOME": str(tmp_path)})

    return run


def files(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_the_skill_is_installed_for_every_agent_that_is_present(skill, tmp_path, repository):
    (tmp_path / ".claude").mkdir()
    (tmp_path / ".codex").mkdir()
    done = skill("--install")
    assert done.returncode == 0, done.stderr
    source = files(repository / "skill" / "rocm-perf")
    assert {"SKILL.md", "references/profile.md", "references/troubleshooting.md"} <= set(source)
    for line, agent in zip(done.stdout.splitlines(), (".claude", ".codex"), strict=True):
        assert Path(line) == tmp_path / agent / "skills" / "rocm-perf" and files(Path(line)) == source


def test_an_earlier_version_is_replaced_and_other_folders_are_not(skill, tmp_path):
    into = tmp_path / "project" / "skills"
    assert skill("--install", "--to", str(into)).returncode == 0
    (into / "rocm-perf" / "references" / "old.md").write_text("of an earlier version")
    assert skill("--install", "--to", str(into)).returncode == 0
    assert not (into / "rocm-perf" / "references" / "old.md").exists() and [one.name for one in into.iterdir()] == ["rocm-perf"]
    (into / "rocm-perf" / "SKILL.md").write_text("---\nname: something else\n---\n")
    done = skill("--install", "--to", str(into))
    assert done.returncode == 73 and "is not this skill" in done.stderr


def test_the_location_and_missing_agents_are_reported(skill):
    assert Path(skill().stdout.strip(), "SKILL.md").is_file()
    assert skill("--install").returncode == 66
    assert skill("--to", "x").returncode == 2
