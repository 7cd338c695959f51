"""Whatever a model's server does, through the real SDKs and HTTP: the run ends as documented, and the source is intact."""

from __future__ import annotations

import tracemalloc

import pytest

from model_run import GEMM, KEY, LDS, SOFTMAX, TILED, World, fenced, stands_in
from model_server import Server, drips, drops, floods, refuses_temperature, replies, says, says_little, stalls
from rocm_perf_lab.errors import JournalDiffersError, LanguageModelError, NoCaptureError, RocmPerfError
from rocm_perf_lab.llm.api_keys import ApiKey
from rocm_perf_lab.llm.journal_replay import replay_journal
from rocm_perf_lab.llm.providers import Message, ModelOptions, provider_of
from rocm_perf_lab.llm.providers.protocol import AnswerTooLongError

GOOD, TILES = says(fenced(LDS)), says(fenced(TILED))
SLOWER = LDS.replace("row_maximum", "slow_exps").replace("exps[i]", "exps[i + 0]")
SYNTAX = LDS.replace("float sum = 0;", "float sum = 0", 1)
ASSEMBLY = LDS.replace("float sum = 0;", 'asm(".incbin \\"/etc/passwd\\"");\n  float sum = 0;', 1)
OTHER_SIGNATURE = LDS.replace("float* out, int cols)", "float* out, long cols)")
both = pytest.mark.parametrize("provider", ["openai", "anthropic"])


@pytest.fixture(autouse=True)
def no_waiting(monkeypatch):
    """Waits between retries are recorded but skipped."""
    monkeypatch.setattr("rocm_perf_lab.llm.providers.retry.patiently.__defaults__", (lambda _seconds: None,))


def asked(run, server, provider="openai", timeout=120.0, **options):
    """(outcome, None) of one run on the server, or (None, its error)."""
    model = ModelOptions(
        provider, "small", server.url.removesuffix("/v1") if provider == "anthropic" else server.url, timeout=timeout
    )
    options = {"max_iterations": 1} | options
    try:
        return run.asking(model, **options).optimize(), None
    except RocmPerfError as error:
        return None, error


def steps(run) -> list[str]:
    return [entry["step"] for entry in run.events("attempt")]


def replayed_the_same(run, outcome) -> None:
    again = replay_journal(run.directory, lambda _: None)
    before, after = outcome.document().as_json(), again.document().as_json()
    for name in ("source", "written"):
        before.pop(name), after.pop(name)
    assert after == before


@both
def test_an_accepted_change_moves_the_target_on(run, provider):
    with Server([GOOD, TILES]) as server:
        outcome, error = asked(run, server, provider, max_iterations=5)
    assert error is None
    assert [one.kernel for one in outcome.optimized.iterations] == [SOFTMAX, GEMM]
    assert outcome.stop.reason == "no headroom" and len(run.world.surveyed) == 3
    assert (outcome.optimized.baseline_ms, outcome.optimized.final_ms) == (100.0, 13.0)
    text = run.source.read_text()
    assert stands_in(LDS, text) and stands_in(TILED, text)
    assert text.count("__global__ __launch_bounds__") == 2
    assert outcome.budget.input_tokens == 2000 and outcome.budget.output_tokens == 400 and outcome.budget.spent is None
    first, second = server.requests
    assert first["model"] == "small" and first["temperature"] == 0.2 and first["stream"]
    assert "softmax_naive" in str(first["messages"]) and "gemm_naive" in str(second["messages"])
    replayed_the_same(run, outcome)


# name -> (answers, the step that rejects each one, "" where accepted)
ANSWERS = {
    "good": ([GOOD], [""]),
    "commands beside it": ([says("```bash\ntouch pwned\n```\n" + fenced(LDS))], [""]),
    "the least of a stream": ([says_little(fenced(LDS))], [""]),
    "no block": ([says("Use LDS.")], ["answer"] * 3),
    "two blocks": ([says(fenced(LDS) + fenced(LDS))], ["answer"] * 3),
    "a block that does not end": ([says("```cpp\n" + LDS)], ["answer"] * 3),
    "cut off": ([says(fenced(LDS), "length"), GOOD], ["answer", ""]),
    "another language": ([says(fenced("print(1)", "python")), GOOD], ["answer", ""]),
    "an include": ([says(fenced('#include "/etc/passwd"\n' + LDS)), GOOD], ["answer", ""]),
    "another signature": ([says(fenced(OTHER_SIGNATURE))], ["source"] * 3),
    "another kernel": ([says(fenced(TILED))], ["compile"] * 3),
    "a variable": ([says(fenced("__device__ float kept;\n" + LDS)), GOOD], ["source", ""]),
    "assembly": ([says(fenced(ASSEMBLY)), GOOD], ["source", ""]),
    "a brace too many": ([says(fenced(LDS + "}\nnamespace more {\n"))], ["compile"] * 3),
    "syntax, then repaired": ([says(fenced(SYNTAX)), GOOD], ["compile", ""]),
    "slower, then faster": ([says(fenced(SLOWER)), GOOD], ["measurement", ""]),
    "never good": ([says(fenced(SYNTAX))], ["compile"] * 3),
    "empty": ([says("")], ["answer"]),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_kept_only_if_it_is_good(run, name):
    answers, expected = ANSWERS[name]
    with Server(answers) as server:
        outcome, error = asked(run, server)
    assert error is None and steps(run) == expected
    assert outcome.optimized.accepted == run.changed == (expected[-1] == "")
    assert len(server.requests) == len(expected) == outcome.budget.requests
    assert outcome.unusable == all(step in ("answer", "compile") for step in expected)
    questions = [request["messages"] for request in server.requests]
    for number, step in enumerate(expected[:-1]):
        assert questions[number + 1][: len(questions[number])] == questions[number]
        assert f"- step: {step}\n" in questions[number + 1][-1]["content"]
    replayed_the_same(run, outcome)


@both
@pytest.mark.parametrize(
    "first",
    [replies(429, {"Retry-After": "7"}), replies(529), drops("```cpp\n"), drops("")],
    ids=["429", "529", "drop", "drop early"],
)
def test_a_temporary_error_is_waited_out(run, provider, first):
    with Server([first, first, GOOD]) as server:
        outcome, error = asked(run, server, provider)
    assert error is None and outcome.optimized.accepted and len(server.requests) == 3
    waits = [note for note in run.notes if "asking again in" in note]
    assert len(waits) == 2 and ("429" not in waits[0] or "7.0 s" in waits[0])


@both
def test_a_model_that_refuses_a_temperature_is_asked_without(run, provider):
    with Server([refuses_temperature(GOOD)]) as server:
        outcome, error = asked(run, server, provider)
    assert error is None and outcome.optimized.accepted
    assert ["temperature" in request for request in server.requests] == [True, False]


# name -> (act, words of the message, requests)
FAILURES = {
    "busy for ever": (replies(503), "503 (not now), 5 times in a row", 5),
    "a long wait": (replies(429, {"Retry-After": "4000"}), "asks to wait 4000 s", 1),
    "dropped for ever": (drops("```cpp"), "5 times in a row", 5),
    "a wrong key": (replies(401, message=f"wrong key: {KEY}"), "check the key", 1),
    "no such model": (replies(404), "check --model", 1),
    "moved": (replies(307, {"Location": "http://127.0.0.1:1/"}), "redirects", 1),
    "stalls": (stalls, "did not answer within 2 s", 1),
    "drips": (drips, "did not answer within 2 s", 1),
    "no stream": (replies(200), "", 5),
}


FAILED = [("openai", name) for name in FAILURES] + [("anthropic", name) for name in ("busy for ever", "a wrong key", "drips")]


@pytest.mark.parametrize("provider, name", FAILED)
def test_a_failure_ends_the_run_and_is_recorded_in_its_journal(run, provider, name):
    act, words, requests = FAILURES[name]
    with Server([act]) as server:
        outcome, error = asked(run, server, provider, timeout=2.0 if "within" in words else 120.0)
    assert isinstance(error, LanguageModelError) and error.exit_code == 48 and words in str(error)
    assert len(server.requests) == requests or "within" in words  # a busy machine may not even send the request in time
    assert not run.changed and not run.events("end")
    (failure,) = run.events("failure")
    assert failure["what"] == error.problem
    assert KEY not in str(error) + "".join(run.notes) + (run.directory / "journal.jsonl").read_text()
    with pytest.raises(LanguageModelError) as again:
        replay_journal(run.directory, lambda _: None)
    assert str(again.value) == str(error)


@both
@pytest.mark.parametrize("with_lines", [True, False], ids=["lines", "one line"])
def test_an_endless_answer_is_cut_off(run, provider, with_lines):
    with Server([floods(200 << 20, with_lines), GOOD]) as server:
        outcome, error = asked(run, server, provider)
        assert error is None and server.sent < 40 << 20  # little more than the sockets hold
    assert steps(run) == ["answer"] and not run.changed
    assert "cut off" in outcome.attempts[0].reason and len(server.requests) == 1


@both
@pytest.mark.parametrize("with_lines", [True, False], ids=["lines", "one line"])
def test_an_endless_answer_takes_little_memory(provider, with_lines):
    with Server([floods(200 << 20, with_lines)]) as server:
        place = server.url.removesuffix("/v1") if provider == "anthropic" else server.url
        asked_of = provider_of(ModelOptions(provider, "small", place), {provider: ApiKey(KEY)})
        tracemalloc.start()
        try:
            with pytest.raises(AnswerTooLongError):
                asked_of.ask([Message("user", "hello")], lambda _: None)
            assert tracemalloc.get_traced_memory()[1] < 40 << 20
        finally:
            tracemalloc.stop()


def test_changes_accepted_before_a_failure_stay_and_the_run_can_be_resumed(run):
    with Server([GOOD, replies(401)]) as server:
        _, error = asked(run, server, max_iterations=3)
        assert isinstance(error, LanguageModelError) and stands_in(LDS, run.source.read_text())
        server.acts[1] = TILES
        outcome, error = asked(run, server, max_iterations=3, resume=True)
    assert error is None and len(outcome.optimized.iterations) == 2 and stands_in(TILED, run.source.read_text())
    assert len(server.requests) == 3 and outcome.budget.requests == 2  # the first answer is not asked for again
    assert len(run.world.judged) == 2
    replayed_the_same(run, outcome)


def test_a_journal_that_was_changed_is_detected(run):
    with Server([GOOD]) as server:
        asked(run, server)
    path = run.directory / "journal.jsonl"
    text = path.read_text()
    for old, new in (
        ("k < cols", "k <= cols"),  # an answer
        ("faster\\n", "slower\\n"),  # a question
        ('"ratio": 0.1', '"ratio": 0.2'),  # the recorded decision does not match it
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        if "ratio" not in old:
            with pytest.raises(JournalDiffersError):
                replay_journal(run.directory, lambda _: None)
    path.write_text(text.replace('"step": "", "reason": ""', '"step": "source", "reason": ""'))
    with pytest.raises(JournalDiffersError, match="decisions differ"):
        replay_journal(run.directory, lambda _: None)


@pytest.mark.parametrize("workers", [1, 3])
def test_the_fastest_of_several_candidates_is_kept(run, workers):
    slower = LDS
    for use in ("[i]", "[256]", "[k]"):
        slower = slower.replace(f"exps{use}", f"slow_exps{use}")
    texts = [slower, LDS, "nothing"]
    run.world.times = {"softmax_naive": {"": 80.0, "slow_exps": 60.0, " exps[i]": 8.0}, "gemm_naive": {"": 20.0, "tile_a": 5.0}}
    with Server([says(fenced(text)) for text in texts] + [says("no")]) as server:
        outcome, error = asked(run, server, candidates=3, workers=workers)
    assert error is None and outcome.optimized.final_ms == 28.0
    assert len([one for one in outcome.optimized.candidates if one.accepted]) == 2
    assert len(server.requests) == 5 and {one.candidate for one in outcome.attempts} == {1, 2, 3}
    replayed_the_same(run, outcome)


def test_two_rounds_without_a_gain_end_the_run(run):
    with Server([says(fenced(SYNTAX))]) as server:
        outcome, _ = asked(run, server, max_iterations=9)
    assert outcome.stop.reason == "repeated failure" and len(server.requests) == 6
    assert [one.kernel for one in outcome.optimized.skipped] == [SOFTMAX]


def test_a_kernel_that_cannot_be_judged_is_skipped(run, monkeypatch):
    def gate(self, source, target):
        raise NoCaptureError("no dispatch was captured", "")

    monkeypatch.setattr(World, "gate", gate)
    with Server([GOOD]) as server:
        outcome, error = asked(run, server, max_iterations=3)
    assert error is None and outcome.stop.reason == "repeated failure" and len(server.requests) == 1 and not run.changed
    assert "no dispatch was captured" in outcome.optimized.skipped[0].reason
    replayed_the_same(run, outcome)


def test_the_top_kernels_are_tried_in_order_where_none_dominates(run):
    run.world.times = {"softmax_naive": {"": 50.0, "exps[i]": 8.0}, "gemm_naive": {"": 45.0, "tile_a": 5.0}}
    with Server([says("no")]) as server:
        outcome, _ = asked(run, server, max_iterations=9)
    rounds = [(one.iteration, one.kernel) for one in outcome.attempts if one.number == 1]
    assert rounds == [(1, SOFTMAX), (2, GEMM), (3, SOFTMAX), (4, GEMM)] and outcome.stop.reason == "repeated failure"


def test_a_dominant_kernel_at_its_ceiling_ends_the_run(run):
    run.world.times = {"softmax_naive": {"": 80.0, "exps[i]": 8.0}, "gemm_naive": {"": 2.0}}
    with Server([GOOD]) as server:
        outcome, _ = asked(run, server, max_iterations=9)
    assert outcome.stop.reason == "ceiling reached" and "at its ceiling" in outcome.stop.detail and len(server.requests) == 1
