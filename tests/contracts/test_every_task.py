"""Every task instance: read, run on a miniature of its layout, and honest about answers that were lost."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from data_set_files import put
from fake_server import completion, says, serving
from scripted_model import ScriptedModel
from surgvalid.asking.reading import PARSER_VERSION
from surgvalid.errors import InputInvalid
from surgvalid.models import Can, Outcome, open_model
from surgvalid.schema.outcomes import Status
from surgvalid.tasks import TASKS, open_task, parse_run, run_task
from surgvalid.tasks.cases import cases_of
from surgvalid.tasks.listing import checked
from surgvalid.tasks.prepare import TaskOptions, prepare_task
from surgvalid.tasks.prompts import Asks, chosen_prompt, prompts_of
from surgvalid.tasks.run import estimate_task
from surgvalid.tasks.task import Layout, TaskForm
from task_folders import build, downloaded, right_answer
from timecode_videos import stamped_video

STUDY = [name for name in TASKS if open_task(name).study == "surgical-vlms-2025"]
RUN = [name for name in TASKS if open_task(name).runnable and open_task(name).data.layout is not Layout.QUESTIONS]
WORDLESS = (TaskForm.BOXES, TaskForm.MASKS)
"""An empty object is an answer to these: nothing is there."""


@pytest.fixture(scope="session")
def folder_of(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The miniature of a task's data, each data set made once."""
    made: dict[tuple[Any, str], Path] = {}

    def find(name: str, make: Any = build) -> Path:
        task = open_task(name)
        key = make, task.data.data_set or name
        if key not in made:
            made[key] = make(task, tmp_path_factory.mktemp("task"))
        return made[key]

    return find


def test_the_study_has_its_38_instances_and_its_printed_rows() -> None:
    assert len(STUDY) == 38
    tasks = [open_task(name) for name in STUDY]
    assert all(task.published.rows for task in tasks)
    assert sum(len(task.published.rows) for task in tasks) == 217
    assert {task.level for task in tasks} == {"scene comprehension", "progression", "safety and performance"}


@pytest.mark.parametrize("name", STUDY)
def test_every_prompt_has_a_version_without_the_faults_that_it_admits(name: str) -> None:
    texts = prompts_of(open_task(name))
    for family in {one.family for one in texts}:
        versions = {one.version: one for one in texts if one.family == family}
        assert "faithful" in versions or all(one.ours for one in versions.values())
        if "mended" in versions:
            assert versions["mended"].mends
            assert not versions["mended"].faults
            assert not versions["mended"].first_case_only
    assert chosen_prompt(texts, Can(images=True)).asks is Asks.ONCE


@pytest.mark.parametrize("name", RUN)
def test_a_baseline_runs_from_the_folder_to_the_score_table(name: str, folder_of: Any, tmp_path: Path) -> None:
    result = run_task(name, model="prior", root=folder_of(name), frames=tmp_path / "frames")
    assert result.headline == open_task(name).scored.headline
    assert result.share_lost == 0.0
    assert result.metrics.filter(pl.col("metric") == result.headline)["value"].null_count() == 0
    assert set(result.scores.frame["task"]) == {name}
    conventions = result.metrics["conventions"][0]
    assert f"task: {name}" in conventions
    assert "answers that could not be read: count as wrong" in conventions


@pytest.mark.parametrize("name", STUDY)
def test_data_as_downloaded_that_are_called_usable_run(name: str, folder_of: Any, tmp_path: Path) -> None:
    root = folder_of(name, downloaded)
    facts = checked(name, root)
    result = run_task(name, model="prior", root=root, frames=tmp_path / "frames")
    assert result.share_lost == 0.0
    assert result.answers.height == facts["cases"] > 0
    model = open_model("prior")
    guess = estimate_task(name, model=model, root=root, options=TaskOptions(), frames=tmp_path / "again")
    assert guess.requests >= facts["cases"]


@pytest.mark.parametrize("name", ["phase-c80", "tool-hc", "tool-sar"])
def test_a_server_is_shown_frames_of_videos_as_downloaded(name: str, folder_of: Any, tmp_path: Path) -> None:
    with serving(says(completion("{}"))) as server:
        run_task(name, model=f"openai:m@{server.url}", root=folder_of(name, downloaded), frames=tmp_path / "f")
    assert server.asked
    assert all("data:image/jpeg" in json.dumps(body) for body in server.bodies)


def test_a_frame_after_the_end_of_its_video_is_not_usable(tmp_path: Path) -> None:
    root = downloaded(open_task("phase-c80"), tmp_path)
    labels = root / "phase_annotations" / "video50-phase.txt"
    labels.write_text(labels.read_text() + "".join(f"{frame}\tCleaningCoagulation\n" for frame in range(160, 400)))
    with pytest.raises(InputInvalid, match=r"video50/375.*its frame at 15 s lies outside the 12\.0 s of video50\.mp4"):
        checked("phase-c80", root)
    put(root / "cases.csv", "case,video,file,severity,frame,fps\na,v,short.avi,2,199,50\nb,v,short.avi,2,98,25\n")
    stamped_video(root / "short.avi", range(0, 4000, 40), size=(96, 56))
    with pytest.raises(InputInvalid, match=r"^(?!.*case 'b').*case 'a': its frame at 3\.98 s lies outside"):
        checked("severity-im", root)


@pytest.mark.parametrize("name", RUN)
def test_right_answers_are_right_and_a_lost_one_is_wrong_or_left_out(name: str, folder_of: Any, tmp_path: Path) -> None:
    task = open_task(name)
    root = folder_of(name)
    prepared = prepare_task(task, ScriptedModel(str).can, root, TaskOptions(), frames=tmp_path)
    rows = {row["case"]: row for row in prepared.cases.table.to_dicts()}
    lost = max(rows)
    model = ScriptedModel(lambda prompt: "..." if prompt.id == lost else right_answer(task, rows[prompt.id]))
    result = run_task(name, model=model, root=root, frames=tmp_path / "frames")
    assert result.answers.filter(pl.col("reading") == "failed")["case"].to_list() == [lost]
    assert result.share_lost == pytest.approx(1 / len(model.asked))
    headline = result.policies.filter(pl.col("metric") == result.headline)
    by_policy = {
        (policy, labels): value for policy, labels, value in headline.select("policy", "labels", "value").rows()
    }
    rule = task.scored.labels if task.answer.form in (TaskForm.CHOICE, TaskForm.LABELS) else ""
    assert by_policy["wrong", rule] == pytest.approx(result.value(result.headline))
    if task.answer.form not in WORDLESS:
        assert result.value(result.headline) < 1.0
        assert by_policy["excluded", rule] == pytest.approx(1.0)


@pytest.mark.parametrize("name", ["phase-c80", "e-det-im", "tool-es"])
def test_a_server_over_http_is_asked_with_the_media_of_every_case(name: str, folder_of: Any, tmp_path: Path) -> None:
    task, root = open_task(name), folder_of(name)
    with serving(says(completion("{}"))) as server:
        result = run_task(
            name, model=f"openai:m@{server.url}", root=root, frames=tmp_path / "f", store=tmp_path / "s",
            boxes="xyxy-pixels",
        )  # fmt: skip
        asked = server.asked
        run_task(
            name, model=f"openai:m@{server.url}", root=root, frames=tmp_path / "f", store=tmp_path / "s",
            boxes="xyxy-pixels",
        )  # fmt: skip
        assert server.asked == asked
    assert 0 < asked <= result.answers.height  # cases that show the same are asked once
    assert set(result.answers["outcome"]) == {"answered"}
    assert result.nothing_came == (task.answer.form not in WORDLESS)
    assert all("image_url" in json.dumps(body) for body in server.bodies)


@pytest.mark.parametrize("name", ["tool-c80", "e-det-im"])
def test_what_was_said_can_be_read_again_without_asking(name: str, folder_of: Any, tmp_path: Path) -> None:
    task, root = open_task(name), folder_of(name)
    rows = {row["case"]: row for row in cases_of(task, root).table.to_dicts()}
    first = run_task(
        name, model=ScriptedModel(lambda p: right_answer(task, rows[p.id])), root=root, frames=tmp_path / "f"
    )
    first.to_dir(tmp_path / "run")
    again = parse_run(tmp_path / "run")
    assert again.metrics.equals(first.metrics)
    assert again.answers.equals(first.answers)
    record = json.loads((tmp_path / "run" / "run.json").read_text())
    assert (record["task"], record["parser"]) == (name, PARSER_VERSION)


@pytest.mark.parametrize("name", ["tool-c80", "e-clf-im", "e-det-im", "tool-es", "anat-al"])
def test_nothing_but_failures_is_an_error_and_never_a_class(name: str, folder_of: Any, tmp_path: Path) -> None:
    down = ScriptedModel(lambda _: Outcome(Status.FAILED, reason="no server"))
    result = run_task(name, model=down, root=folder_of(name), frames=tmp_path / "frames")
    assert result.nothing_came
    assert result.value(result.headline) == 0.0
    assert [one.code for one in result.findings if one.severity.value == "error"] == ["nothing-came"]
    assert set(result.answers["reading"]) == {"no answer"}
