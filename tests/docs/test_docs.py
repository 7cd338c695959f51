"""The documents against the code: options, exit codes, JSON fields, variables, counters, paths, and the sample output."""

from __future__ import annotations

import hashlib
import itertools
import re
import shlex
import shutil
import sqlite3
import subprocess
import types
import typing
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from pydantic import BaseModel

import needs
from rocm_perf_lab.analysis.bottleneck import CLASSES
from rocm_perf_lab.analysis.bottleneck_thresholds import factors, meanings, signals
from rocm_perf_lab.cli import COMMANDS, cli
from rocm_perf_lab.cli.json_documents import DOCUMENTS
from rocm_perf_lab.errors import exit_codes
from rocm_perf_lab.toml import tomllib

REPOSITORY = Path(__file__).resolve().parents[2]
GUIDE = REPOSITORY / "docs" / "USER_GUIDE.md"
DEVICE_MODEL = REPOSITORY / "docs" / "DEVICE_MODEL.md"
REFERENCE = REPOSITORY / "docs" / "reference"
PAGES = [
    *(REPOSITORY / name for name in ("README.md", "CHANGELOG.md", "benchmarks/README.md")),
    *sorted((REPOSITORY / "docs").rglob("*.md")),
    *sorted((REPOSITORY / "skill").rglob("*.md")),
]
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(REPOSITORY)))


# ---- reading Markdown ----


def without_code(text: str) -> str:
    return re.sub(r"(?ms)^```.*?^```|`[^`\n]*`", "", text)


def code(text: str) -> list[str]:
    """Every line of code blocks (fenced or indented) and every code span."""
    fenced = re.findall(r"(?ms)^```\w*\n(.*?)^```", text)
    lines = [line for block in fenced for line in block.splitlines()]
    rest = re.sub(r"(?ms)^```.*?^```", "", text)
    lines += [line.strip() for line in rest.splitlines() if line.startswith("    ")]
    return lines + spans(rest)


def spans(text: str) -> list[str]:
    return re.findall(r"`([^`\n]+)`", text)


def table(page: Path, marker: str) -> list[list[str]]:
    """The cells of the table below the comment <!-- marker -->, without the header row."""
    _, found, rest = page.read_text("utf-8").partition(f"<!-- {marker} -->\n")
    assert found, f"{page.name} has no table marked {marker!r}"
    rows = list(itertools.takewhile(lambda line: line.startswith("|"), rest.splitlines()))
    return [[cell.strip() for cell in row.strip("|").split("|")] for row in rows[2:]]


def first_column(page: Path, marker: str) -> list[str]:
    return [name for row in table(page, marker) for name in spans(row[0])]


def expand(name: str) -> list[str]:
    """'A_{B,C}_{D,E}' -> A_B_D, A_B_E, A_C_D, A_C_E."""
    parts = [part.split(",") for part in re.split(r"[{}]", name)]
    return ["".join(choice) for choice in itertools.product(*parts)]


# ---- links and paths ----


def anchors(page: Path) -> set[str]:
    headings = re.findall(r"(?m)^#+ (.+)$", re.sub(r"(?ms)^```.*?^```", "", page.read_text("utf-8")))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@every_page
def test_links_resolve(page: Path):
    for target in re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text("utf-8"))):
        if target.startswith(("http://", "https://")):
            continue
        file, _, anchor = target.partition("#")
        path = (page.parent / file) if file else page
        assert path.exists(), f"{page.name} links to {target}"
        assert not anchor or anchor in anchors(path), f"{page.name} links to {target}"


@every_page
def test_paths_exist(page: Path):
    folders = "|".join(["src", "native", "testbed", "tests", "env", "docs", "skill", "benchmarks"])
    text = "\n".join(code(page.read_text("utf-8")))
    made = re.findall(r"(?:> |# )([\w./-]+)", text)
    for name in set(re.findall(rf"(?<![\w./-])(?:{folders})/[\w./-]+", text)) - set(made):
        assert (REPOSITORY / name).exists(), f"{page.name} names {name}"


@every_page
def test_paths_within_the_package_exist(page: Path):
    """`profiling/session.py` and the like, which name neither src nor native."""
    roots = (REPOSITORY, REPOSITORY / "src" / "rocm_perf_lab", REPOSITORY / "native", REPOSITORY / "native" / "device")
    for span in spans(page.read_text("utf-8")):
        if re.fullmatch(r"[a-z_]+/[\w/]+\.(py|toml|h|cpp)", span):
            assert any((root / span).exists() for root in roots), f"{page.name} names {span}"


def test_the_documented_layers_are_those_of_the_code():
    page = (REPOSITORY / "docs" / "ARCHITECTURE.md").read_text("utf-8")
    _, _, rest = page.partition("<!-- layers -->\n```mermaid\nflowchart TD\n")
    picture = re.sub(r"<br/>|\b(below|leaves)\b", "", rest.partition("```")[0])
    contract = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"][0]
    layers = [name for layer in contract["layers"] for name in re.findall(r"\w+", layer)]
    assert ["__main__", *dict.fromkeys(re.findall(r"\w+", picture))] == layers


# ---- the command line ----


def command(name: str | None) -> click.Command:
    """The command with a name like "profile" or "replay full-vm"."""
    found = cli
    for part in (name or "").split():
        found = found.get_command(click.Context(found), part)
    return found


def name_of(words: list[str]) -> str | None:
    """The command that the words after `rocm-perf` call, or None: "replay full-vm" of `replay full-vm --json`."""
    names, found = [], cli
    for word in words:
        if not isinstance(found, click.Group) or (found := found.get_command(click.Context(found), word)) is None:
            break
        names.append(word)
    return " ".join(names) or None


def every_command() -> list[str]:
    groups = {name: command(name) for name in COMMANDS}
    inner = [f"{name} {part}" for name, group in groups.items() if isinstance(group, click.Group) for part in group.commands]
    return [*COMMANDS, *inner]


def options(name: str | None) -> set[str]:
    """The options in the command's --help."""
    top = click.Context(cli, info_name="rocm-perf", **cli.context_settings)  # what `-h` means is inherited from it
    context = click.Context(command(name), parent=top, **command(name).context_settings) if name else top
    return set(re.findall(r"(?m)(?<![\w-])--?[a-zA-Z][\w-]*", context.get_help()))


@every_page
def test_options_in_command_lines_exist(page: Path):
    """In `rocm-perf profile --json ./app --its-own`, the words up to the program belong to rocm-perf."""
    for line in code(page.read_text("utf-8")):
        for words in re.findall(r"\brocm-perf ([^\n]+)", line):
            try:
                first, *rest = shlex.split(words)  # the words of a quoted command do not belong to rocm-perf
            except ValueError:  # the line is continued, or a sentence with an apostrophe
                first, *rest = words.split()
            name = name_of([first, *rest])
            ours = itertools.takewhile(lambda word: not word.startswith(("./", "PROGRAM", ">")), rest if name else [first])
            for word in ours:
                if re.match(r"--?[a-zA-Z]", word.strip("[]")):
                    assert word.strip("[]") in options(name), f"{page.name}: {line}"


@pytest.mark.parametrize(
    "page",
    [page for page in PAGES if page in (GUIDE, REPOSITORY / "README.md") or {"skill", "reference"} & set(page.parts)],
    ids=lambda page: page.name,
)
def test_options_named_alone_exist(page: Path):
    known = set().union(*(options(name) for name in (None, *every_command())))
    named = {span.split()[0] for span in spans(page.read_text("utf-8")) if re.match(r"--?[a-z]", span)}
    assert named <= known, named - known


@pytest.mark.parametrize(
    "page", [REFERENCE / "exit-codes.md", REPOSITORY / "skill/rocm-perf/references/exit-codes.md"], ids=lambda page: page.name
)
def test_exit_codes(page: Path):
    assert [(int(code), meaning) for code, meaning in table(page, "exit codes")] == exit_codes()


# ---- JSON ----


def inner_model(annotation: object) -> type[BaseModel] | None:
    """The model in X, X | None, list[X]; None for plain values."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    if typing.get_origin(annotation) in (list, typing.Union, types.UnionType):
        return next(filter(None, map(inner_model, typing.get_args(annotation))), None)
    return None


@every_page
def test_json_paths_exist(page: Path):
    for span in spans(page.read_text("utf-8")):
        if not re.fullmatch(r"(profile|roofline|dag|analysis)(\.\w+(\[\])?)+", span) or span.endswith((".json", ".py")):
            continue
        document, *fields = span.replace("[]", "").split(".")
        model: type[BaseModel] | None = DOCUMENTS[document].model
        for field in fields:
            assert model is not None and field in model.model_fields, f"{page.name}: {span} has no {field}"
            model = inner_model(model.model_fields[field].annotation)


# ---- other lists ----


def sources() -> Iterator[str]:
    for pattern in ("src/**/*.py", "native/**/*.cpp", "native/**/*.h"):
        yield from (path.read_text("utf-8") for path in REPOSITORY.glob(pattern))
    yield from (path.read_text("utf-8") for path in [REPOSITORY / "dev", *(REPOSITORY / "env").glob("*.sh")])


def test_environment_variables():
    documented = {span for row in table_of_variables() for span in spans(row)}
    text = "\n".join(sources())
    read = set(re.findall(r"(?:getenv\(|environ\.get\(|VARIABLE = |environment\[|\$\{)\"?(ROCM_PERF_[A-Z_]+)", text))
    assert read == {name for name in documented if name.startswith("ROCM_PERF_")}
    assert all(name in text for name in documented)


def table_of_variables() -> list[str]:
    lines = (REFERENCE / "environment.md").read_text("utf-8").splitlines()
    return [line.split("|")[1] for line in lines if line.startswith("| `")]


def test_bottleneck_classes_and_their_thresholds():
    page = REFERENCE / "bottlenecks.md"
    assert [(spans(row[0])[0], row[1]) for row in table(page, "classes")] == [
        (name, meanings()[name].applies) for name in CLASSES
    ]
    assert first_column(page, "factors") == [factor.name for factor in factors()]
    shown = [(spans(row[0])[0], *map(float, row[1:])) for row in table(page, "signals")]
    assert shown == [(s.name, s.none, s.threshold, s.full) for s in signals().values()]


def test_figures_are_based_on_the_current_timing_parameters():
    values = tomllib.loads((REPOSITORY / "src/rocm_perf_lab/arch/timing_gfx942.toml").read_text("utf-8"))
    text = "".join(f"{name}={values[name]['value']!r}\n" for name in sorted(values))
    named = re.findall(r"modelled with the parameters ([0-9a-f]{16})", (REFERENCE / "optimizing.md").read_text("utf-8"))
    assert named and set(named) == {hashlib.sha256(text.encode()).hexdigest()[:16]}


def test_timing_parameters():
    parameters = tomllib.loads((REPOSITORY / "src/rocm_perf_lab/arch/timing_gfx942.toml").read_text("utf-8"))
    assert sorted(first_column(DEVICE_MODEL, "parameters")) == sorted(parameters)


def test_events_of_the_journal():
    files = [REPOSITORY / "src/rocm_perf_lab" / part / "journal_lines.py" for part in ("optimize", "llm")]
    events = {event for file in files for event in re.findall(r'event: Literal\["([a-z ]+)"\]', file.read_text("utf-8"))}
    assert {"begin", "gate", "survey"} < events <= set(spans((REFERENCE / "optimizing.md").read_text("utf-8")))


# ---- output from the device ----


@pytest.fixture(scope="module")
def softmax(testbed, tmp_path_factory, rocm_perf_in) -> tuple[str, Path]:
    """What `profile` prints for the softmax testbed, and its run directory."""
    folder = tmp_path_factory.mktemp("sample")
    shutil.copy(testbed("softmax_testbed"), folder)
    run = rocm_perf_in(folder, "profile", "--device", "gfx942", "./softmax_testbed")
    return run.stdout, folder / "softmax_testbed.rocm-perf"


def test_instructions_match_those_of_the_device(native_dir):
    probe = needs.built(native_dir / "bin" / "rpd_isa_probe")
    listing = subprocess.run([probe, "list"], capture_output=True, text=True, check=True).stdout
    known = [line.split()[0] for line in listing.splitlines()]
    text = DEVICE_MODEL.read_text("utf-8")
    assert {span for span in spans(text) if span.startswith("v_mfma")} == {name for name in known if name.startswith("v_mfma")}
    assert int(re.search(r"about (\d+) mnemonics", text)[1]) == pytest.approx(len(known), rel=0.05)


def test_counters_match_those_of_the_device(softmax):
    with sqlite3.connect(softmax[1] / ".rocpd_profile" / "base_results.db") as database:
        device = set(database.execute("SELECT block, name FROM rocpd_info_pmc"))
    rows = table(DEVICE_MODEL, "counters")
    assert {(row[0], name) for row in rows for span in spans(row[1]) for name in expand(span)} == device


def wording(report: str) -> list[str]:
    """The report without its numbers and units, which change with the compiler and the model's parameters."""
    text = re.sub(r"\d[\d.,]*( (ns|us|ms|s|B|KiB|MiB|GiB)\b)?", "#", report)
    return text.split()


def sample(page: Path, command: str) -> str:
    return page.read_text("utf-8").partition(f"```console\n$ rocm-perf {command}\n")[2].partition("```")[0]


def test_the_sample_reports_match_the_printed_ones(softmax, rocm_perf_in):
    profiled, directory = softmax
    short = "".join(line for line in profiled.splitlines(keepends=True) if not line.startswith("PASS "))
    assert wording(sample(REPOSITORY / "README.md", "profile ./softmax_testbed")) == wording(short)
    whole = rocm_perf_in(directory.parent, "report", directory.name).stdout
    assert wording(sample(REFERENCE / "report.md", "report softmax_testbed.rocm-perf")) == wording(whole)


def test_every_page_of_the_reference_is_listed():
    listed = re.findall(r"\]\(([\w-]+\.md)\)", (REFERENCE / "README.md").read_text("utf-8"))
    assert sorted(listed) == sorted(page.name for page in REFERENCE.glob("*.md") if page.name != "README.md")


def test_readme_and_guide_stay_short():
    """Anything beyond that belongs in the reference."""
    assert len((REPOSITORY / "README.md").read_text("utf-8").splitlines()) <= 130
    assert len(GUIDE.read_text("utf-8").splitlines()) <= 400
