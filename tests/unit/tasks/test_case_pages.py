"""The page of cases holds what was shown, asked, said, read and true, and nothing that a reply could run."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from scripted_model import ScriptedModel
from small_questions import answers, questions
from surgvalid import score
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, Misuse
from surgvalid.tasks import open_task, run_task
from surgvalid.tasks.viewer import case_page
from task_folders import build, downloaded, scored_clip

HOSTILE = "</script><img src=x onerror=alert(1)>\u2028 {}"


def document(page: str) -> Any:
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert match is not None
    return json.loads(match[1])


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two models on a task whose frames are cut from videos, one of them hostile on some."""
    folder = tmp_path_factory.mktemp("runs")
    root = downloaded(open_task("phase-c80"), folder / "data")
    said = {"first": lambda _: '{"phase": 0}', "second": lambda p: HOSTILE if p.id.endswith("/0") else '{"phase": 0}'}
    for name, reply in said.items():
        model = ScriptedModel(reply, name=name)
        run_task("phase-c80", model=model, root=root, frames=folder / "f").to_dir(folder / "runs" / name)
    return folder / "runs"


def test_the_page_sets_the_runs_of_all_models_side_by_side(runs: Path) -> None:
    page = case_page([runs])
    held = document(page)
    assert len(held["cases"]) == 4
    first = held["cases"][0]
    assert [run["model"] for run in first["runs"]] == ["first", "second"]
    assert [run["reading"] for run in first["runs"]] == ["ok", "failed"]
    assert [run["score"] for run in first["runs"]] == [1.0, 0.0]
    assert first["reference"] == "Preparation"
    assert first["runs"][1]["reply"] == HOSTILE
    assert first["runs"][1]["why"]
    assert "phase" in first["prompt"]
    assert {one["id"] for case in held["cases"] for one in case["pictures"]} == set(held["pictures"])
    assert all(url.startswith("data:image/jpeg;base64,") for url in held["pictures"].values())
    assert HOSTILE not in page
    assert page.count("</script>") == 2


@pytest.mark.parametrize("name", ["tool-c80", "e-det-im", "tool-es", "anat-al"])
def test_every_form_of_answer_has_its_cases(name: str, tmp_path: Path) -> None:
    root = build(open_task(name), tmp_path / "data")
    run_task(name, model="prior", root=root, frames=tmp_path / "f").to_dir(tmp_path / "run")
    held = document(case_page([tmp_path / "run"], limit=2))
    assert len(held["cases"]) == 2
    assert all(case["pictures"] for case in held["cases"])


def test_scores_of_questions_have_their_cases(tmp_path: Path) -> None:
    requests, references = questions()
    given = {
        "requests": requests,
        "references": references,
        "responses": answers("steady", requests, references, seed=1),
    }
    for name, rows in given.items():
        (tmp_path / f"{name}.json").write_text(json.dumps([row.as_row() for row in rows]), encoding="utf-8")
    score(*(tmp_path / f"{name}.json" for name in given), model="steady").to_dir(tmp_path / "scored")
    held = document(case_page([tmp_path / "scored"]))
    assert len(held["cases"]) == len(references)
    by_case = {row.case: row.answer for row in references}
    assert {case["case"]: case["reference"] for case in held["cases"]} == by_case
    assert {run["model"] for case in held["cases"] for run in case["runs"]} == {"steady"}


def test_scores_of_questions_show_the_stretch_and_why_an_answer_was_not_read(tmp_path: Path) -> None:
    folder = scored_clip(tmp_path)
    (bare,) = document(case_page([folder]))["cases"]
    assert bare["pictures"] == []
    held = document(case_page([folder], data=tmp_path / "videos"))
    (one,) = held["cases"]
    assert [picture["at"] for picture in one["pictures"]] == [pytest.approx(2 + 0.5 + n) for n in range(6)]
    assert {picture["id"] for picture in one["pictures"]} == set(held["pictures"])
    (run,) = one["runs"]
    assert (run["reading"], run["reply"], run["score"]) == ("unreadable", "I think yes", 0.0)
    assert "yes or no" in run["why"]


def test_what_is_no_run_is_refused_and_nothing_is_replaced(runs: Path, tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="neither a run of a task nor a folder of surgvalid score"):
        case_page([tmp_path])
    with pytest.raises(Misuse):
        case_page([])
    page = tmp_path / "cases.html"
    words = ["task", "cases", str(runs), "--out", str(page)]
    assert CliRunner().invoke(build_app(), words).exit_code == 0
    assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert CliRunner().invoke(build_app(), words).exit_code != 0
    assert CliRunner().invoke(build_app(), [*words[:-1], str(tmp_path / "cases.pdf")]).exit_code != 0
