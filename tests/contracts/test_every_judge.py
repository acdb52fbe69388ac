"""What holds for every kind of judge. A new kind without an example here fails the first test."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path

import pytest

from fake_server import comparing, serving
from surgvalid.errors import ExtraNeeded
from surgvalid.judges import JUDGES, Judge, open_judge
from surgvalid.testing._judges import JUDGE_RULES, sample_cases

EXAMPLES = ("none", "exact", "cached", "openai", "local")
"""`local` needs torch; `tests/models` puts it to the same tests."""
HERE = tuple(kind for kind in EXAMPLES if kind != "local")


@pytest.fixture(params=HERE)
def judge(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Judge]:
    if request.param == "cached":
        rows = [
            {"judge": "j", "qID": c.case, "reference": c.reference, "candidate": c.candidate, "verdict": True}
            for c in sample_cases(5)
        ]
        path = tmp_path / "verdicts.jsonl"
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        yield open_judge(f"cached:{path}")
    elif request.param == "openai":
        with serving(comparing) as server:
            yield open_judge(f"openai:m@{server.url}")
    else:
        yield open_judge(request.param)


def test_every_kind_has_an_example() -> None:
    assert sorted(EXAMPLES) == sorted(JUDGES)


@pytest.mark.parametrize("kind", JUDGES)
def test_a_kind_says_how_it_is_written_and_what_it_is(kind: str) -> None:
    module = import_module(f"surgvalid.judges.{kind}")
    assert module.USAGE.split(":")[0] == kind
    assert callable(module.build)
    assert module.__doc__


def test_the_name_starts_with_the_kind_and_shows_no_folder(judge: Judge, tmp_path: Path) -> None:
    assert judge.name.split(":")[0] in JUDGES
    assert str(tmp_path) not in judge.name


@pytest.mark.parametrize("rule", JUDGE_RULES, ids=lambda rule: rule.__name__)
def test_a_judge_keeps_every_rule(judge: Judge, rule: Callable[[Judge], Iterator[str]]) -> None:
    assert list(rule(judge)) == []


def test_the_local_judge_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ExtraNeeded):
        open_judge("local:anywhere")
