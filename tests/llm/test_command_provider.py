"""A program as the proposer: what it reads, what it prints, and every way in which it can fail to."""

from __future__ import annotations

import os
import shlex
import sys
import threading
import time

import pytest

from model_run import KEY, LDS, fenced
from rocm_perf_lab.errors import LanguageModelError, UsageError
from rocm_perf_lab.llm.api_keys import take_keys
from rocm_perf_lab.llm.providers import Message, ModelOptions, provider_of
from rocm_perf_lab.llm.providers.command import CommandProvider
from rocm_perf_lab.llm.providers.protocol import AnswerTooLongError
from rocm_perf_lab.process.child import stoppable

QUESTION = [Message("system", "rules"), Message("user", "make it fast")]


def python(code: str, timeout: float = 60.0) -> CommandProvider:
    return CommandProvider(shlex.join([sys.executable, "-c", code]), timeout)


def ask(command: CommandProvider, messages=QUESTION) -> str:
    return command.ask(messages, lambda _: None).text


def test_the_program_reads_the_question_and_prints_the_answer():
    echo = python("import sys; print(sys.stdin.read().upper(), end='é')")
    assert ask(echo) == "RULES\n\nMAKE IT FAST\né"
    again = ask(echo, [*QUESTION, Message("assistant", "so"), Message("user", "no")])
    assert (
        again.startswith("=== INSTRUCTIONS ===\n\nRULES\n\n=== QUESTION ===") and "=== YOUR EARLIER ANSWER ===\n\nSO" in again
    )


def test_a_process_left_behind_does_not_hold_up_the_answer():
    left = "import subprocess; print('é' * 100_000); subprocess.Popen(['sleep', '300'], start_new_session=True)"
    began = time.monotonic()
    assert ask(python(left)) == "é" * 100_000 + "\n"
    assert time.monotonic() - began < 50


def test_the_program_gets_no_keys(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    take_keys(os.environ)
    assert KEY not in ask(python("import os; print(dict(os.environ))"))


@pytest.mark.parametrize(
    "command, error, words",
    [
        (python("import sys; sys.exit('no credit left')"), LanguageModelError, "ended with status 1: no credit left"),
        (python("import os; os.kill(os.getpid(), 9)"), LanguageModelError, "ended with status -9"),
        (CommandProvider("/no/such/program", 9), LanguageModelError, "cannot be run (No such file or directory)"),
        (CommandProvider("", 9), LanguageModelError, "cannot be run"),
        (CommandProvider("'", 9), UsageError, "balance its quotes"),
        (python("while True: print('x' * 65536)"), AnswerTooLongError, "longer than 256 KiB"),
        (python("import time; print('wait'); time.sleep(99)", 1.0), LanguageModelError, "did not answer and end within 1 s"),
        (python("import os, time; os.close(1); time.sleep(99)", 1.0), LanguageModelError, "did not answer and end within 1 s"),
    ],
)
def test_each_failure_is_named(command, error, words):
    with pytest.raises(error) as caught:
        ask(command)
    assert words in str(caught.value)


def test_no_process_of_the_program_is_left(tmp_path):
    """Neither the program nor any process that it started outlives the answer."""
    start = f"subprocess.Popen(['sleep', '98765'], stdout=open({str(tmp_path / 'f')!r}, 'w'))"
    code = f"import subprocess; {start}; print('done')"
    assert ask(python(code)) == "done\n"
    deadline = time.monotonic() + 30
    while (left := sleepers()) and time.monotonic() < deadline:
        time.sleep(0.05)  # it has been killed and is about to end
    assert not left


def test_an_interrupt_ends_the_program_in_every_thread(tmp_path):
    stopped, ends = threading.Event(), []
    slow = python(f"import time; open({str(tmp_path / 'began')!r}, 'w'); time.sleep(600)", 600)

    def candidate():
        with stoppable(stopped), pytest.raises(KeyboardInterrupt):
            ask(slow)
        ends.append(time.monotonic())

    threads = [threading.Thread(target=candidate) for _ in range(2)]
    for thread in threads:
        thread.start()
    while not (tmp_path / "began").exists():
        time.sleep(0.01)
    stopped.set()
    for thread in threads:
        thread.join(30)
    assert len(ends) == 2


@pytest.mark.parametrize("model", ["no-such-agent --fast", "./tests", "", "'"])
def test_a_missing_program_is_reported_at_once(model):
    with pytest.raises((LanguageModelError, UsageError)):
        provider_of(ModelOptions("command", model), {})


def sleepers() -> list[str]:
    found = []
    for process in os.listdir("/proc"):
        try:
            with open(f"/proc/{process}/cmdline", "rb") as file:
                if file.read() == b"sleep\x0098765\0":
                    found.append(process)
        except OSError:
            continue
    return found


def test_a_program_can_propose(run, tmp_path):
    (tmp_path / "answer").write_text(fenced(LDS))
    model = ModelOptions("command", shlex.join([sys.executable, "-c", f"print(open({str(tmp_path / 'answer')!r}).read())"]))
    outcome = run.asking(model, max_iterations=1).optimize()
    assert outcome.optimized.accepted and outcome.document().tokens.as_json() == {"input": None, "output": None}
    assert outcome.document().reasons.keys() == {"cost_usd", "tokens"}
