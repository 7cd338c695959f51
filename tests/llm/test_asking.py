"""Consent, cost, and killed runs: with a provider that answers from a table, without HTTP."""

from __future__ import annotations

import json

import pytest

import needs
from killed_runs import killed_before
from model_run import LDS, PROGRAM, TILED, Run, fenced, stands_in
from rocm_perf_lab.cli.consent import Consent
from rocm_perf_lab.cli.llm_optimize import report
from rocm_perf_lab.errors import MissingInputError, UnusableAnswersError, UsageError
from rocm_perf_lab.llm.budget import Budget, UnsentError, listed_price, per_million
from rocm_perf_lab.llm.journal_replay import replay_journal
from rocm_perf_lab.llm.providers import PROVIDERS, Answer, Message, ModelOptions
from rocm_perf_lab.llm.providers.protocol import TransientError
from rocm_perf_lab.optimize import run_folder


class Speaker:
    """Knows both rewrites. tokens: the number that it reports for an answer."""

    endpoint = "the table"

    def __init__(self, tokens=(1000, 500)):
        self.asked, self.tokens = [], tokens

    def ask(self, messages, progress):
        self.asked.append(messages)
        code = LDS if "Make softmax_naive faster" in messages[1].text else TILED
        return Answer(fenced(code), "table", *self.tokens)


def test_nothing_is_sent_that_was_not_shown(run):
    seen = []

    def consent(place, messages):
        seen.append((place, tuple(messages)))
        if len(seen) == 2:
            raise UnsentError("declined", "the user did not want the question sent")

    speaker = Speaker()
    outcome = run.loop(speaker, consent=consent, max_iterations=3).optimize()
    assert [tuple(messages) for messages in speaker.asked] == [messages for _, messages in seen[:1]]
    assert (
        outcome.stop.reason == "declined" and stands_in(LDS, run.source.read_text()) and len(outcome.optimized.iterations) == 1
    )
    replayed = replay_journal(run.directory, lambda _: None)
    assert replayed.stop == outcome.stop and replayed.optimized.final_ms == outcome.optimized.final_ms


def test_a_question_is_shown_once_and_hides_nothing(capsys, monkeypatch):
    answers = iter([True, False])
    monkeypatch.setattr("click.confirm", lambda *_, **__: next(answers))
    consent, messages = Consent(always=False, never=False), [Message("system", "rules"), Message("user", "a\x1b[2J\rb\u202ec")]
    consent("http://there", messages)
    with pytest.raises(UnsentError, match="did not want"):
        consent("http://there", [*messages, Message("user", "more")])
    out, shown = capsys.readouterr()
    assert out == "" and shown.count("rules") == 1 and shown.count("to http://there") == 2 and "more" in shown
    assert r"a\x1b[2J\rb\u202ec" in shown
    Consent(always=True, never=False)("http://there", messages)
    assert capsys.readouterr().err == ""
    with pytest.raises(UnsentError, match="a dry run"):
        Consent(always=True, never=True)("http://there", messages)


def test_answers_that_cannot_be_judged_have_a_separate_exit_code(run, capsys):
    class Silent(Speaker):
        def ask(self, messages, progress):
            return Answer("I would rather not.", "table")

    outcome = run.loop(Silent(), max_iterations=1).optimize()
    with pytest.raises(UnusableAnswersError, match="none of 3 answers .* answer: the answer has no fenced") as error:
        report(outcome, as_json=True)
    assert error.value.exit_code == 49 and json.loads(capsys.readouterr().out)["answers"][2]["step"] == "answer"


def test_changes_that_the_user_declines_are_not_written(run):
    outcome = run.loop(Speaker(), approve=lambda _judged: False, max_iterations=3).optimize()
    assert not run.changed and not outcome.optimized.accepted and outcome.stop.reason == "repeated failure"


def test_questions_stop_before_they_could_cost_too_much(run):
    """An answer costs 2 dollars and could cost 3."""
    for most, reason, asked in ((6.0, "no headroom", 2), (4.0, "budget", 1), (2.9, "budget", 0)):
        speaker = Speaker(tokens=(0, 1000))
        model = ModelOptions("openai", "m", price=(0.0, 2000.0), max_cost=most, max_tokens=1500)
        outcome = run.loop(speaker, model=model, in_place=False, max_iterations=3).optimize()
        assert (outcome.stop.reason, len(speaker.asked)) == (reason, asked)
        assert outcome.budget.spent == outcome.document().cost_usd == 2.0 * asked
        assert replay_journal(run.directory, lambda _: None).document().cost_usd == 2.0 * asked


def test_interrupted_answers_are_counted_as_paid(run):
    """Each costs at most 3 dollars, so the fourth try would exceed the budget."""
    model = ModelOptions("openai", "m", price=(0.0, 2000.0), max_cost=10.0, max_tokens=1500)

    class Breaking(Speaker):
        def ask(self, messages, progress):
            super().ask(messages, progress)
            error = TransientError("the answer ended too early", 0.0)
            error.begun = True
            raise error

    speaker = Breaking()
    outcome = run.loop(speaker, model=model, max_iterations=3).optimize()
    assert (outcome.stop.reason, len(speaker.asked), outcome.budget.spent, outcome.budget.requests) == ("budget", 3, 9.0, 3)


def test_costs_add_up_and_unknown_costs_stay_unknown():
    budget = Budget(per_million((3.0, 15.0)), 1.0, 1000)
    reserved = budget.reserve([Message("user", "x" * 3500)])
    assert (1000 * 3 + 1000 * 15) / 1e6 < reserved < (2000 * 3 + 1000 * 15) / 1e6
    assert budget.pay(Answer("a", "m", 1000, 100), reserved) == pytest.approx((3000 + 1500) / 1e6)
    assert budget.pay(Answer("a", "m", 1000, 100, cost=0.5), 0.0) == 0.5
    with pytest.raises(UnsentError, match="could cost"):
        Budget.reserve(budget, [Message("user", "x" * 600_000)])
    assert budget.pay(None, 0.01) == 0.01 and budget.input_tokens is None and budget.spent == pytest.approx(0.5145)
    unknown = Budget(None, None, 1000)
    assert unknown.pay(Answer("a", "m", 1, 1), unknown.reserve([Message("user", "x")])) is None and unknown.spent is None
    with pytest.raises(UsageError, match="--price"):
        Budget(None, 1.0, 1000)


def test_hosted_prices_are_listed_and_others_are_not():
    needs.module("genai_prices")
    price = listed_price("openai", PROVIDERS["openai"].hosted, "gpt-4o")
    assert price(1_000_000, 0) > 0 and price(0, 1_000_000) > price(1_000_000, 0)
    assert listed_price("openai", PROVIDERS["openai"].hosted, "no such model") is None
    assert listed_price("openai", "http://localhost/v1", "gpt-4o") is None


def test_a_run_is_resumed_by_the_command_that_began_it(run):
    def interrupted(_place, _messages):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run.loop(Speaker(), consent=interrupted).optimize()
    with pytest.raises(MissingInputError, match="rocm-perf llm-optimize --resume"):
        run_folder.unfinished(run.folder / "runs", "optimize")
    with pytest.raises(MissingInputError, match="did not end"):
        replay_journal(run.directory, lambda _: None)
    assert run.loop(Speaker(), resume=True).optimize().optimized.accepted


def started(folder, deadline: int) -> int:
    def loop():
        Run(folder).loop(Speaker(), max_iterations=3).optimize()

    return killed_before(deadline, loop, ("fsync", "replace", "fchmod"))


def test_a_killed_run_leaves_complete_files_and_asks_for_nothing_twice(run, tmp_path):
    run.loop(Speaker(), max_iterations=3).optimize()  # reads all sources in this process, for its children
    original, final = PROGRAM.read_text(), run.source.read_text()
    middle = next(path for path in run.directory.glob("accepted-1*")).read_text()
    (tmp_path / "count").mkdir()
    count = started(tmp_path / "count", 0)
    assert count > 40
    for deadline in range(1, count + 1, 12):
        place = tmp_path / str(deadline)
        place.mkdir()
        assert started(place, deadline) == -9
        assert (place / "program.hip").read_text() in (original, middle, final)
        again, speaker = Run(place), Speaker()
        text = (place / "runs" / "run-0001" / "journal.jsonl").read_text()
        if '"event": "end"' in text:
            continue
        begun = '"event": "begin"' in text
        outcome = again.loop(speaker, resume=begun, max_iterations=3).optimize()
        assert again.source.read_text() == final and outcome.optimized.final_ms == 13.0
        assert len(speaker.asked) == 2 - (text.count('"event": "response"') if begun else 0)
        replay_journal(again.directory, lambda _: None)
