"""What tests share: the native parts, the testbed programs, the command line, recordings."""

from __future__ import annotations

import functools
import gc
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

import needs
import served_cli

# Wall time says nothing about a test on a machine that others use as well.
settings.register_profile("busy machine", deadline=None)
settings.load_profile("busy machine")

# Shells start background jobs with these signals ignored, and every program under test would inherit that.
for _number in (signal.SIGINT, signal.SIGHUP):
    if signal.getsignal(_number) is signal.SIG_IGN:
        signal.signal(_number, signal.default_int_handler if _number == signal.SIGINT else signal.SIG_DFL)

# Measurements on the user's own GPUs would influence decisions about modelled gains.
os.environ["XDG_DATA_HOME"] = str(Path(tempfile.gettempdir(), "rocm-perf-tests-without-data"))
os.environ["OPENBLAS_NUM_THREADS"] = "1"  # NumPy starts threads that cost more than they gain
os.environ.pop("COLUMNS", None)  # so that reports have the same width everywhere

REPOSITORY = Path(__file__).resolve().parents[1]

gc.disable()  # until all tests are collected: the objects made meanwhile stay, and scanning them takes longer than making them


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session")
def repository() -> Path:
    return REPOSITORY


@pytest.fixture(scope="session")
def native_dir() -> Path:
    """The folder of a native build ($ROCM_PERF_LAB_NATIVE_DIR, else build/)."""
    folder = needs.native_folder()
    needs.built(folder / "lib" / "librocmperf_device.so")
    return folder


@pytest.fixture(scope="session")
def hipcc() -> str:
    """For tests that compile HIP programs."""
    return needs.program("hipcc")


@pytest.fixture(scope="session")
def testbed(native_dir: Path) -> Callable[[str], Path]:
    """testbed("vcopy") is the compiled program."""
    return lambda name: needs.built(native_dir / "testbed" / name)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Recordings from real hardware ($RPL_SHARED/data, else ../shared/data); skips the test where there are none."""
    return needs.shared("data")


@pytest.fixture(scope="session")
def command_line(compile_c) -> Iterator[Callable[..., subprocess.CompletedProcess[str]]]:
    """command_line(arguments, env=..., **options) runs the command line; options are those of subprocess.run.

    It forks a process that has imported it, unless the environment or the options affect the start of Python.
    """
    own = served_cli.of_interpreter(os.environ)
    with served_cli.serving(compile_c("served_cli", served_cli.CLIENT.read_text(), "-O1")) as served:

        def run(arguments: Iterable[object], *, env: dict[str, str], **options) -> subprocess.CompletedProcess[str]:
            forks = served_cli.of_interpreter(env) == own and "preexec_fn" not in options
            words = served if forks else [sys.executable, "-m", "rocm_perf_lab"]
            return subprocess.run([*words, *map(str, arguments)], env=env, **options)

        yield run


@pytest.fixture(scope="session")
def rocm_perf_in(command_line) -> Callable[..., subprocess.CompletedProcess[str]]:
    """rocm_perf_in(folder, "profile", "./app") runs the command line there and expects it to succeed."""

    def run(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
        # Not the C library's environment, where readline has set COLUMNS.
        options = dict(cwd=folder, env=dict(os.environ), capture_output=True, text=True, stdin=subprocess.DEVNULL)
        completed = command_line(arguments, timeout=300, **options)
        assert completed.returncode == 0, completed.stderr
        return completed

    return run


@pytest.fixture
def rocm_perf(command_line, tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """rocm_perf("profile", "./app") runs the command line in tmp_path and returns the completed process.

    Keyword arguments go to subprocess.run; `environment` is added to this process's.
    """

    def run(*arguments: object, environment: dict[str, str] | None = None, **options) -> subprocess.CompletedProcess[str]:
        defaults = dict(cwd=tmp_path, capture_output=True, text=True, timeout=300, stdin=subprocess.DEVNULL)
        return command_line(arguments, env=os.environ | (environment or {}), **(defaults | options))

    return run


@pytest.fixture(scope="session")
def process_is_gone() -> Callable[[int], bool]:
    """process_is_gone(pid): whether it has ended. In a container, orphans may never be reaped, so a zombie counts as gone."""

    def is_gone(pid: int) -> bool:
        try:
            return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
        except FileNotFoundError:
            return True

    return is_gone


@pytest.fixture(scope="session")
def compile_c(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Path]:
    """compile_c("name", source, *flags) compiles a C program."""
    folder = tmp_path_factory.mktemp("programs")
    compiler = needs.program("cc", "gcc", "clang")

    def compiled(name: str, source: str, *flags: str) -> Path:
        path = folder / name
        subprocess.run([compiler, "-x", "c", "-", "-o", path, *flags], input=source, text=True, check=True)
        return path

    return compiled


@pytest.fixture(scope="session")
def inert_native(compile_c, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An environment with native parts that load but do nothing, for programs that never start ROCr."""
    folder = tmp_path_factory.mktemp("inert")
    library = compile_c("inert.so", "int rocm_perf_inert;", "-shared", "-fPIC")
    for name in ("librocmperf_device.so", "librocmperf_preload.so", "librocmperf_tracer.so", "rocmperf-rocpd-writer"):
        shutil.copy(library, folder / name)
    return {"ROCM_PERF_LAB_NATIVE_DIR": str(folder)}


@pytest.fixture(scope="module")
def browser() -> Iterator:
    """Chromium without a window."""
    chromium = needs.program("chromium")
    api = needs.module("playwright.sync_api")
    with api.sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield running
        running.close()


@pytest.fixture
def opened(browser) -> Iterator[Callable]:
    """opened(path, **options): the page in a tab without a network; any error in it fails the test."""
    tabs = []

    def open_page(path: Path, **options):
        context = browser.new_context(offline=True, **({"viewport": {"width": 1250, "height": 900}} | options))
        tab, trouble = context.new_page(), []
        tab.on("console", lambda message: trouble.append(message.text) if message.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: trouble.append(str(error)))
        tab.on("request", lambda request: trouble.append(request.url) if not request.url.startswith("file:") else None)
        tab.goto(path.as_uri())
        tab.wait_for_selector("body[data-ready]")
        tabs.append((context, trouble))
        return tab

    yield open_page
    for context, trouble in tabs:
        context.close()
        assert trouble == []


@pytest.fixture(scope="session")
def expect_accessible() -> Callable[[object], None]:
    """expect_accessible(tab): axe-core finds nothing that hinders people who use a keyboard or a screen reader."""
    axe = needs.module("axe_playwright_python.sync_playwright").Axe()

    def expect(tab) -> None:
        found = axe.run(tab, options={"resultTypes": ["violations"]}).response["violations"]
        assert [(one["id"], [node["html"] for node in one["nodes"][:3]]) for one in found] == []

    return expect


@pytest.fixture(scope="session")
def triton_pythons(tmp_path_factory: pytest.TempPathFactory) -> Callable[[str], Path]:
    """triton_pythons("3.9.0") is the Python of an environment with NumPy and this Triton from the package index."""

    @functools.cache
    def python(version: str) -> Path:
        environment = tmp_path_factory.mktemp("triton")
        subprocess.run([sys.executable, "-m", "venv", environment], check=True)
        wanted = ("numpy", f"triton=={version}")
        installed = subprocess.run([environment / "bin" / "pip", "install", "-q", *wanted], capture_output=True, text=True)
        assert installed.returncode == 0, installed.stderr
        return environment / "bin" / "python"

    return python


# The oldest version that compiles loops on every Python it is packaged for, and the newest one tried.
TRITONS = ("3.6.0", "3.9.0")


def _named_pythons() -> list[Path]:
    return [Path(name) for name in os.environ.get("RPL_TRITON_PYTHON", "").split(":") if name]


@pytest.fixture(params=_named_pythons() or TRITONS, ids=str)
def python(request: pytest.FixtureRequest, triton_pythons: Callable[[str], Path]) -> Path:
    """A Python for each tested version of Triton: those that RPL_TRITON_PYTHON names, else those of TRITONS."""
    return request.param if isinstance(request.param, Path) else triton_pythons(request.param)


@pytest.fixture
def newest_python(triton_pythons: Callable[[str], Path]) -> Path:
    """The Python with the last of these versions."""
    named = _named_pythons()
    return named[-1] if named else triton_pythons(TRITONS[-1])


@pytest.fixture
def torch_python() -> Path:
    """A Python with Triton and PyTorch, which no test installs: the first one that RPL_TRITON_PYTHON names."""
    named = _named_pythons() or pytest.skip("RPL_TRITON_PYTHON names no Python with Triton and PyTorch")
    return named[0]
