"""Findings other than the winner, on results whose truth is known, and the page that shows them."""

from __future__ import annotations

import itertools
import json

import pytest

from rocm_perf_lab.autotune.autotune_document import BestProfile
from rocm_perf_lab.autotune.evaluation_outcome import FAILED, OK, EvaluationOutcome
from rocm_perf_lab.autotune.findings import best_so_far, confidence_of, importance_of
from rocm_perf_lab.autotune.page import _effects, _evaluation, _head, page
from rocm_perf_lab.autotune.results import TuningResult, document
from rocm_perf_lab.autotune.search_loop import EvaluatedConfiguration
from rocm_perf_lab.autotune.t4 import t4


def ran(runs, modelled=False, **values) -> EvaluatedConfiguration:
    return EvaluatedConfiguration(values, EvaluationOutcome(OK, None, runs, "gpu", modelled=modelled), False)


def failed(**values) -> EvaluatedConfiguration:
    return EvaluatedConfiguration(values, EvaluationOutcome(FAILED, "<b>&"), False)


def result(evaluated, **more) -> TuningResult:
    return TuningResult("random", 0, 100, "a <device>", 100, evaluated, {}, {}, **more)


GRID = [ran([1.0 + 4 * a + b], a=a, b=b, c=c) for a, b, c in itertools.product(range(4), repeat=3)]


def test_importance_follows_effect():
    shares, _ = importance_of(GRID)
    assert shares["a"] > shares["b"] > shares["c"] and shares["c"] < 0.02
    assert sum(shares.values()) == pytest.approx(1)
    assert importance_of(GRID[:9])[0] is None and "fewer" in importance_of(GRID[:9])[1]
    assert importance_of([ran([2.0], a=a) for a in range(20)])[0] is None


def test_confidence_is_students_interval():
    """Mean 2, standard error 1/sqrt(3); t for 2 degrees of freedom is 4.3027."""
    near, far = ran([1.0, 2.0, 3.0], a=1), ran([50.0, 51.0, 52.0], a=2)
    sure, _ = confidence_of([far, failed(a=3), near])
    assert (sure.low_ms, sure.high_ms) == pytest.approx((2 - 4.3027 / 3**0.5, 2 + 4.3027 / 3**0.5), abs=1e-4)
    assert sure.ahead_of_next is True
    assert confidence_of([near, ran([3.0, 4.0, 5.0], a=2)])[0].ahead_of_next is False
    assert confidence_of([near])[0].ahead_of_next is None
    assert "--runs" in confidence_of([ran([1.0], a=1)])[1]
    assert confidence_of([ran([1.0], True, a=1)]) == (None, "modelled times do not vary")


def test_the_best_so_far():
    assert best_so_far([failed(a=0), ran([3.0], a=1), ran([4.0], a=2), failed(a=3), ran([1.0], a=4)]) == [None, 3, 3, 3, 1]


@pytest.fixture
def tuned(opened, tmp_path):
    """tuned(evaluated): the page in a browser."""

    def open_page(evaluated):
        path = tmp_path / "page.html"
        path.write_text(page(result(evaluated)), encoding="utf-8")
        return opened(path)

    return open_page


@pytest.mark.parametrize("evaluated", [GRID + [failed(a="<script>", b=1, c=1)], GRID[:1], [failed(a=1), ran([0.0], a=2)]])
def test_the_page_shows_every_configuration(tuned, evaluated):
    tab = tuned(evaluated)
    circles = tab.eval_on_selector_all(
        "#progress circle", "all => all.map(one => [one.cx.baseVal.value, one.cy.baseVal.value])"
    )
    timed = [one for one in evaluated if one.outcome.ms]
    assert len(circles) == len(timed)
    assert [across for across, _ in circles] == sorted(across for across, _ in circles)
    slower = sorted(range(len(timed)), key=lambda at: timed[at].outcome.ms)
    assert [circles[at][1] for at in slower] == sorted((down for _, down in circles), reverse=True)  # larger values are slower
    assert tab.locator("#progress .failed").count() == sum(one.outcome.status != OK for one in evaluated)
    assert tab.locator("#all tbody tr").count() == len(evaluated)


def test_the_table_sorts_and_searches_and_effects_are_those_of_the_parameters(tuned, expect_accessible):
    tab = tuned(GRID)
    assert tab.inner_text("#best") == "1 ms with a=0 b=0 c=0"
    times = tab.locator("#all tbody td:nth-child(5)").all_inner_texts()
    assert [float(text.removesuffix(" ms")) for text in times] == sorted(one.outcome.ms for one in GRID)
    tab.click("#all th button:text-is('time')")
    assert tab.inner_text("#all tbody tr:first-child td:nth-child(5)") == "16 ms"
    tab.fill("#search", "a=1 b=2")
    assert tab.inner_text("#found") == "4 configurations" and tab.locator("#all tbody tr").count() == 4
    titles = tab.locator("#effects h3").all_inner_texts()
    assert [title[0] for title in titles] == ["a", "b", "c"]  # the most important first
    medians = tab.locator("#effects table >> nth=0").locator("td:nth-child(4)").all_inner_texts()
    assert medians == ["2.5 ms", "6.5 ms", "10.5 ms", "14.5 ms"]
    expect_accessible(tab)


FEW = [ran([6.0, 6.0], a=1, b=1), failed(a=1, b=2), ran([2.0, 2.0], a=2, b=1), ran([3.0, 3.0], a=2, b="x")]


def test_the_head_of_the_page_by_hand():
    """The defaults take 6 ms and the best takes 2 ms in both of its runs; the next takes 3 ms."""
    profile = BestProfile(
        run_directory="best.rocm-perf", runtime_ms=2.0, cv=0.0, timing="measured", kernel="rows", bottleneck="memory-bound"
    )
    model = {"r2": 0.876, "residual": 0.1, "warning": "few results"}
    told = TuningResult("random", 7, 1200, "a device", 2500, FEW, model, {"c": 5, "d": "x"}, FEW[0].values, profile=profile)
    found = document(told)
    assert list(_head(found, "measured, gpu time")) == [
        ("Evaluated", "4 of 2,500 configurations: 0 reused, 1 failed, 0 unstable"),
        ("Times", "measured, gpu time"),
        ("Search", "random, seed 7, at most 1,200 evaluations"),
        ("Gain", "3.00x faster than the defaults"),
        ("Certain", "mean of its runs 2 to 2 ms with 95 % confidence; ahead of the next"),
        ("Profile", "rows is memory-bound; see best.rocm-perf"),
        ("Fixed", "c=5 d=x"),
        ("Model", "R2 0.88 for configurations that it had not seen"),
        ("Model", "few results"),
    ]
    bare = document(TuningResult("random", 0, 9, "a device", None, [ran([2.0], a=1)], {}, {}))
    assert list(_head(bare, "modelled")) == [
        ("Evaluated", "1 configurations: 0 reused, 0 failed, 0 unstable"),
        ("Times", "modelled"),
        ("Search", "random, seed 0, at most 9 evaluations"),
    ]


def test_effects_by_hand():
    """Best and median time for each value of a parameter; numbers come before words, and failures do not count."""
    found = document(result(FEW))
    a, b = _effects(found, ["a", "b"])
    assert (a["title"], a["share"], a["most"]) == ("a", 0.0, 6.0)
    assert [tuple(one.values()) for one in a["values"]] == [("1", 1, 6.0, 6.0), ("2", 2, 2.0, 2.5)]
    assert [tuple(one.values()) for one in b["values"]] == [("1", 2, 2.0, 4.0), ("2", 0, None, None), ("x", 1, 3.0, 3.0)]
    assert _effects(document(result(FEW[:1])), ["a", "b"]) == []  # one value has no effect
    (share, _) = _effects(found.model_copy(update={"importance": {"a": 0.25, "b": 0.75}}), ["a", "b"])
    assert (share["title"], share["share"]) == ("b: 75% of what the parameters explain", 0.75)
    assert _evaluation(2, found.evaluations[1]) == {
        "number": 2, "values": {"a": 1, "b": 2}, "ms": None, "cv": None, "status": FAILED, "unstable": False, "reason": "<b>&",
    }  # fmt: skip


def test_modelled_times_are_labelled():
    assert "Time (modelled)" in page(result([ran([1.0], True, a=1)]))
    assert "Time (measured, gpu time)" in page(result([ran([1.0], a=1)]))


@pytest.mark.parametrize(("modelled", "kind"), [(True, "recorded, modelled"), (False, "recorded")])
def test_a_recording_of_modelled_times_stays_modelled(rocm_perf, tmp_path, modelled, kind):
    (tmp_path / "t4.json").write_text(json.dumps(t4(result([ran([1.0], modelled, a=1), ran([2.0], modelled, a=2)]))))
    done = rocm_perf("autotune", "--simulate", "t4.json", "--write-t4", "again.json", "--write-report", "page.html")
    assert f"best: 1 ms ({kind}): a=1" in done.stdout and f"Time ({kind})" in (tmp_path / "page.html").read_text()
    again = json.loads(rocm_perf("autotune", "--simulate", "again.json", "--json").stdout)
    assert again["best"]["modelled"] is modelled and again["best"]["measure"] == "recorded"


def test_everything_that_is_null_has_a_reason():
    found = document(result(GRID[:1])).as_json()
    assert {name for name, value in found.items() if value is None} == found["reasons"].keys()


def test_other_tools_read_the_results():
    """Checked against the schema that comes with Kernel Tuner."""
    files, jsonschema = pytest.importorskip("kernel_tuner.file_utils"), pytest.importorskip("jsonschema")
    _version, schema = files.output_file_schema("results")
    jsonschema.validate(t4(result([*GRID[:3], failed(a=1, b=1, c=1)])), schema)
