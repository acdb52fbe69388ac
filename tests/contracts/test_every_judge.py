"""What holds for every kind of judge. A new kind without an example here fails the first test."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path

import pytest

from fake_server import comparing, serving
from judge_cases import a_case, some_cases
from surgeval.errors import ExtraNeeded
from surgeval.judges import JUDGES, Judge, JudgeCase, Panel, Verdict, VerdictStore, open_judge
from surgeval.judges._case import VERDICT_STATES

EXAMPLES = ("none", "exact", "cached", "openai", "local")
"""`local` needs torch; `tests/models` puts it to the same tests."""
HERE = tuple(kind for kind in EXAMPLES if kind != "local")


@pytest.fixture(params=HERE)
def judge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Judge]:
    if request.param == "cached":
        rows = [
            {"judge": "j", "qID": c.case, "reference": c.reference, "candidate": c.candidate, "verdict": True}
            for c in some_cases(5)
        ]
        path = tmp_path / "verdicts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        yield open_judge(f"cached:{path}")
    elif request.param == "openai":
        with serving(comparing) as server:
            yield open_judge(f"openai:m@{server.url}")
    else:
        yield open_judge(request.param)


ODD = [
    a_case(""),
    a_case("\x00\u202e\u200b\ud800"),
    a_case("x" * 100_000),
    JudgeCase("", "", 0.0, 0.0, "", "", "", ""),
    JudgeCase("q", "p", float("nan"), float("inf"), "q", "r", "c"),
]


def test_every_kind_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(JUDGES)


@pytest.mark.parametrize("kind", JUDGES)
def test_a_kind_says_how_it_is_written_and_what_it_is(kind: str) -> None:
    module = import_module(f"surgeval.judges.{kind}")
    assert module.USAGE.split(":")[0] == kind
    assert callable(module.build)
    assert module.__doc__


def test_the_name_starts_with_the_kind_and_shows_no_folder(judge: Judge, tmp_path: Path) -> None:
    assert judge.name.split(":")[0] in JUDGES
    assert str(tmp_path) not in judge.name


@pytest.mark.parametrize("count", [0, 1, 7])
def test_there_is_one_verdict_per_case(judge: Judge, count: int) -> None:
    verdicts = judge.judge(some_cases(count))
    assert len(verdicts) == count
    assert all(isinstance(verdict, Verdict) for verdict in verdicts)


def test_the_order_of_the_cases_changes_no_verdict(judge: Judge) -> None:
    cases = some_cases(9)
    forwards = [verdict[:2] for verdict in judge.judge(cases)]
    backwards = [verdict[:2] for verdict in judge.judge(cases[::-1])]
    assert forwards == backwards[::-1]


def test_an_opinion_exists_exactly_where_it_was_judged(judge: Judge) -> None:
    for verdict in judge.judge([*some_cases(9), *ODD]):
        assert verdict.state in VERDICT_STATES
        assert (verdict.correct is not None) == (verdict.state == "judged")
        assert verdict.latency_s >= 0
        assert verdict.tokens >= 0
        assert len(verdict.text) < 600


def test_odd_cases_crash_no_judge_and_no_store(judge: Judge, tmp_path: Path) -> None:
    for _ in range(2):
        decisions = Panel([judge], store=VerdictStore(tmp_path / "store.jsonl")).decide(ODD)
        assert len(decisions) == len(ODD)


def test_a_panel_decides_as_its_only_judge(judge: Judge) -> None:
    cases = some_cases(5)
    decisions = Panel([judge]).decide(cases)
    assert [d.correct for d in decisions] == [verdict.correct for verdict in judge.judge(cases)]


def test_the_local_judge_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExtraNeeded):
        open_judge("local:anywhere")
