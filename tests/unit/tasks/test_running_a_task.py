"""Running tasks as a user does: examples without leakage, media that are missing, models that cannot, leaderboards."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from fake_server import Answer, completion, says, serving
from scripted_model import ScriptedModel, words_of
from sight_servers import pictures_in
from surgvalid.cli import build_app
from surgvalid.errors import FileUnreadable, InputInvalid, Misuse, UnknownName
from surgvalid.models import Prompt, ask_all, open_model
from surgvalid.report.report import make_report
from surgvalid.report.section import ReportTable
from surgvalid.tasks import open_task, parse_run, run_task
from surgvalid.tasks.board import task_board
from surgvalid.tasks.cases import cases_of
from surgvalid.tasks.listing import checked
from surgvalid.tasks.prepare import chosen_shots, refuse_leakage, training_cases
from surgvalid.tasks.reading import task_of
from surgvalid.video import write_png
from task_folders import build, right_answer, tiny_video


@pytest.fixture(scope="module")
def cholec(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build(open_task("phase-c80"), tmp_path_factory.mktemp("cholec"))


@pytest.fixture(scope="module")
def frames(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("frames")


def test_examples_come_from_the_training_part_and_stand_before_the_question(cholec: Path, frames: Path) -> None:
    task = open_task("tool-c80")
    model = ScriptedModel(lambda _: "{}")
    run_task(task, model=model, root=cholec, frames=frames, shots=2)
    texts = [piece for piece in model.asked[0].parts if isinstance(piece, str)]
    assert texts[0].startswith('output: {"Grasper": true')
    assert "You just saw some images" in texts[-1]
    pictures = [str(piece.path) for piece in model.asked[0].parts if not isinstance(piece, str)]
    assert all("train/video01" in name for name in pictures[:-1])
    assert "test/video49" in pictures[-1]


def test_an_example_from_a_video_that_is_asked_about_is_refused(cholec: Path) -> None:
    task = open_task("phase-c80")
    asked = cases_of(task, cholec)
    pool = training_cases(task, cholec, asked)
    assert not pool.videos & asked.videos
    with pytest.raises(InputInvalid, match="which is asked about"):
        chosen_shots(task, asked, asked, 2)
    with pytest.raises(InputInvalid, match="training part"):
        chosen_shots(task, pool, asked, 1)
    shot = {"case": "x", "video": "v9"}
    with pytest.raises(InputInvalid, match="'p1'"):
        refuse_leakage([shot], asked, clusters={"v9": "p1", next(iter(asked.videos)): "p1"})


def test_whatever_is_missing_is_named_before_anything_is_asked(cholec: Path, frames: Path, tmp_path: Path) -> None:
    model = ScriptedModel(lambda _: "3")
    with pytest.raises(UnknownName, match="did you mean 'phase-c80'"):
        run_task("phase-c8", model=model, root=cholec, frames=frames)
    with pytest.raises(InputInvalid, match="no such"):
        run_task("phase-c80", model=model, root=tmp_path / "nowhere", frames=frames)
    with pytest.raises(Misuse, match="states no split"):
        run_task("phase-c80", model=model, root=cholec, frames=frames, split="camma 40/8/32:trial")
    with pytest.raises(UnknownName, match="family"):
        run_task("phase-c80", model=model, root=cholec, frames=frames, family="poem")
    with pytest.raises(InputInvalid, match="takes no images"):
        run_task("phase-c80", model=ScriptedModel(lambda _: "3", images=False), root=cholec, frames=frames)
    copy = tmp_path / "copy"
    shutil.copytree(cholec, copy)
    shutil.rmtree(copy / "frames_25fps" / "test" / "video50")
    with pytest.raises(InputInvalid, match=r"2 of 4 cases have no image here \(video50/0"):
        run_task("phase-c80", model=model, root=copy, frames=frames)
    with pytest.raises(InputInvalid, match=r"cases\.csv"):
        run_task("cvs-im", model=model, root=cholec, frames=frames)
    with pytest.raises(Misuse, match="cannot be run"):
        run_task("surgvlm-phase", model=model, root=cholec, frames=frames)
    assert model.asked == []


def test_one_further_question_is_asked_where_an_answer_could_not_be_read(cholec: Path, frames: Path) -> None:
    model = ScriptedModel(lambda prompt: '{"phase": 0}' if "could not be read" in words_of(prompt) else "hm")
    result = run_task("phase-c80", model=model, root=cholec, frames=frames, re_ask=True)
    assert set(result.answers["reading"]) == {"repaired"}
    assert len(model.asked) == 2 * result.answers.height


def test_a_model_that_names_other_classes_is_wrong_and_its_labels_are_not_called_misnamed(
    cholec: Path, frames: Path
) -> None:
    result = run_task("phase-c80", model=ScriptedModel(lambda _: '{"phase": 6}'), root=cholec, frames=frames)
    assert "labels-renamed" not in [one.code for one in result.findings]


def test_a_limit_and_a_shard_are_said_to_be_other_cases_than_the_published(cholec: Path, frames: Path) -> None:
    result = run_task("phase-c80", model="prior", root=cholec, frames=frames, limit=2)
    assert result.answers.height == 2
    assert "some-cases-only" in [one.code for one in result.findings]


def test_a_board_sets_runs_beside_published_rows_and_marks_those_that_cannot_be(
    cholec: Path, frames: Path, tmp_path: Path
) -> None:
    task = open_task("phase-c80")
    rows = {row["case"]: row for row in cases_of(task, cholec).table.to_dicts()}
    for name, shots in (("a", 0), ("b", 2)):
        model = ScriptedModel(lambda p: right_answer(task, rows[p.id]), name="scripted")
        run_task(task, model=model, root=cholec, frames=frames, name=name, shots=shots).to_dir(tmp_path / name)
    board = task_board([tmp_path], contrast="shots")
    ours = board.table.filter(pl.col("source") == "run")
    assert sorted(ours["model"]) == ["a", "b"]
    assert ours["prompts"].str.starts_with("chat/").all()
    doubted = board.table.filter(pl.col("doubt").is_not_null() & (pl.col("source") != "run"))
    assert doubted["model"].to_list() == ["PaliGemma"]
    section = next(one for one in make_report(tmp_path).sections if one.name == "models_on_tasks")
    tables = {block.name: block.frame for block in section.blocks if isinstance(block, ReportTable)}
    assert tables["task-matrix"]["model"].to_list() == ["a", "b, 2-shot"]
    assert tables["task-published"]["doubt"].drop_nulls().len() == 1
    assert {"task-runs", "task-readings", "task-costs"} <= set(tables)
    contrast = board.tables["contrasts"]
    assert contrast["difference"].to_list() == [0.0, 0.0]
    with pytest.raises(Misuse, match="do not carry"):
        task_board([tmp_path / "a"], contrast="shots")
    with pytest.raises(UnknownName):
        task_board([tmp_path], contrast="luck")
    with pytest.raises(FileUnreadable, match="no run"):
        task_board([frames])
    with pytest.raises(Misuse, match="nothing to show"):
        task_board([])


def test_statements_about_published_rows_are_one_command_each() -> None:
    models = task_board([], tasks=["surgical-vlms-2025"], contrast="models", first=["GPT-4o"], second=["Med-Gemini"])
    whole = models.tables["contrasts"].filter(pl.col("task") == "all").row(0, named=True)
    assert whole["tasks"] == 7
    demands = task_board([], tasks=["surgical-vlms-2025"], contrast="demands", first=["GPT-4o"]).tables["contrasts"]
    assert demands.height == 1
    assert demands["low"][0] < demands["difference"][0] < demands["high"][0]


def test_the_command_line_lists_shows_checks_and_runs(cholec: Path, tmp_path: Path) -> None:
    runner, app = CliRunner(), build_app()
    store = ["--store", str(tmp_path / "store")]
    assert "tool-c80" in runner.invoke(app, ["task", "list", "--study", "surgical-vlms-2025"]).output
    shown = runner.invoke(app, ["task", "list", "phase-c80"]).output
    assert "one number where a case has one label" in shown
    checked = runner.invoke(app, ["task", "check", "phase-c80", "--data", str(cholec)])
    assert (checked.exit_code, "cases: 4" in checked.output) == (0, True)
    assert runner.invoke(app, ["task", "check", "phase-c80", "--data", str(tmp_path)]).exit_code == 1
    run = ["task", "run", "phase-c80", "--data", str(cholec), *store]
    done = runner.invoke(app, [*run, "--model", "prior", "--out", str(tmp_path / "runs")])
    assert done.exit_code == 0, done.output
    assert (tmp_path / "runs" / "phase-c80" / "prior" / "scores.parquet").is_file()
    parsed = runner.invoke(app, ["task", "parse", str(tmp_path / "runs" / "phase-c80" / "prior")])
    assert parsed.exit_code == 0, parsed.output
    assert runner.invoke(app, ["task", "leaderboard", str(tmp_path / "runs")]).exit_code == 0
    lost = runner.invoke(app, [*run, "--model", "constant:no idea"])
    assert lost.exit_code == 1
    dry = runner.invoke(app, [*run, "--model", "prior", "--dry-run"])
    assert "requests: 4" in dry.output


def test_every_problem_of_a_task_file_is_named_at_once() -> None:
    content = {
        "title": "x", "summary": 3, "colour": "red",
        "data": {"layout": "folder"}, "media": {"kind": "smell", "uniform": 2, "rate_hz": 1},
        "answer": {"form": "choice", "classes": ["a", "A"]}, "metrics": {"names": ["luck"], "headline": "pluck"},
    }  # fmt: skip
    with pytest.raises(InputInvalid) as raised:
        task_of(content, name="x")
    text = "\n".join(raised.value.problems)
    for piece in ("'summary' must be text", "no entry 'colour'", "'layout' must be one of"):
        assert piece in text
    content |= {"summary": "y", "data": {"layout": "cases"}}
    del content["colour"]
    with pytest.raises(InputInvalid) as raised:
        task_of(content, name="x")
    text = "\n".join(raised.value.problems)
    for piece in (
        "'kind' must be one of",
        "both say which frames",
        "two classes",
        "needs 'column'",
        "'luck' is no metric",
    ):
        assert piece in text


@pytest.fixture
def clips(tmp_path: Path) -> Path:
    """A task of one's own with four images, no two of them alike."""
    rows = ["case,video,file,object"]
    for number in range(4):
        write_png(np.full((8, 8, 3), 40 * number, dtype=np.uint8), tmp_path / f"{number}.png")
        rows.append(f"c{number},v{number},{number}.png,{'clip' if number % 2 else 'nothing'}")
    (tmp_path / "cases.csv").write_text("\n".join(rows), encoding="utf-8")
    prompt = "[[prompt]]\nfamily = 'chat'\nversion = 'mended'\ntext = 'clip or nothing?'\n"
    (tmp_path / "prompts.toml").write_text(prompt)
    (tmp_path / "clip.toml").write_text(
        'title = "Clip"\nsummary = "Whether a clip is there"\nprompts = "prompts.toml"\n[data]\nlayout = "cases"\n'
        '[media]\nkind = "image"\nfiles = ["{file}"]\n[answer]\nform = "choice"\nclasses = ["clip", "nothing"]\n'
        'column = "object"\n[metrics]\nnames = ["accuracy"]\nheadline = "accuracy"\n'
    )
    return tmp_path


def test_a_run_that_ran_out_of_money_is_marked_wherever_its_values_stand(clips: Path) -> None:
    runner, app, runs = CliRunner(), build_app(), clips / "runs"
    with serving(says(completion("clip"))) as server:
        asked = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(clips / "store")]
        asked += ["--model-option", "price=1000/1000", "--model-option", "concurrency=1", "--out", str(runs), "--force"]
        asked += [word for name in "ab" for word in ("--model", f"openai:{name}@{server.url}")]
        limited = runner.invoke(app, [*asked, "--max-cost", "2"])
        assert "the run is not finished: " in limited.output
        assert "do not say how many tokens they took" in limited.output
        assert 0 < server.asked < 4, "the limit is one for both models"
        board = task_board([runs]).table
        assert board["doubt"].str.contains(r"not finished: \d requests are to be asked again").all()
        report = make_report(runs)
        assert report.sections[0].title == "2 runs of models on 1 task"
        assert "the run is not finished" in str(report.sections[0].blocks)
        section = next(one for one in report.sections if one.name == "models_on_tasks")
        tables = {block.name: block.frame for block in section.blocks if isinstance(block, ReportTable)}
        assert "(not finished)" in str(tables["task-matrix"].rows())
        whole = runner.invoke(app, asked)
        assert whole.exit_code == 0, whole.output
        assert server.asked == 8, "nothing is asked twice"
    assert task_board([runs]).table["doubt"].null_count() == 2


def test_the_matrix_of_a_report_drops_no_run_and_marks_other_cases(clips: Path, tmp_path: Path) -> None:
    for name, given in {"whole": {}, "again": {}, "few": {"limit": 2}, "lenient": {"re_ask": True}}.items():
        model = ScriptedModel(lambda _: "clip", name="first" if name == "whole" else "second")
        run_task(clips / "clip.toml", model=model, root=clips, frames=tmp_path / "cut", **given).to_dir(
            tmp_path / "runs" / name
        )
    section = next(one for one in make_report(tmp_path / "runs").sections if one.name == "models_on_tasks")
    matrix = {block.name: block.frame for block in section.blocks if isinstance(block, ReportTable)}["task-matrix"]
    cells = dict(matrix.rows())
    assert sorted(cells) == ["first", "second (run 1)", "second (run 2)", "second (run 3)"]
    assert sorted(task_board([tmp_path / "runs"]).tables["matrix"]["model"]) == sorted(cells)
    assert sorted("(other cases)" in cell for cell in cells.values()) == [False, False, False, True]


def test_a_video_where_one_frame_is_shown_needs_to_say_which(tmp_path: Path) -> None:
    (tmp_path / "film.mp4").write_bytes(tiny_video().read_bytes())
    (tmp_path / "cases.csv").write_text("case,video,file,severity\na,v,film.mp4,2\n", encoding="utf-8")
    with pytest.raises(InputInvalid, match="name an image, or say which frame in the columns 'frame' and 'fps'"):
        checked("severity-im", tmp_path)
    (tmp_path / "cases.csv").write_text("case,video,file,severity,frame,fps\na,v,film.mp4,2,20,25\n", encoding="utf-8")
    assert checked("severity-im", tmp_path)["frames"] == 1


@pytest.mark.parametrize("sign", ["\u2028", "\x85", "\x1e", "\r", "\n", "\ud800"], ids=ascii)
def test_whatever_signs_an_answer_has_it_is_stored_and_read_again(clips: Path, tmp_path: Path, sign: str) -> None:
    said = f"clip{sign}is what I see"
    model = ScriptedModel(lambda _: said)
    first = run_task(clips / "clip.toml", model=model, root=clips, frames=tmp_path / "cut")
    again = parse_run(first.to_dir(tmp_path / "run"))
    assert [one.outcome.text for one in again.responses] == [said.replace("\ud800", "?")] * 4
    assert again.value("accuracy") == first.value("accuracy") == 0.5


def test_answers_made_elsewhere_may_hold_any_sign_of_a_line(tmp_path: Path) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text('{"id": "a", "text": "clip\u2028\x85"}\n{"id": "b", "text": "none"}\n', encoding="utf-8")
    heard: dict[str, str] = {}
    prompts = [Prompt(name, ("?",)) for name in "ab"]
    ask_all(open_model(f"file:{path}"), prompts, done=lambda prompt, outcome: heard.update({prompt.id: outcome.text}))
    assert heard == {"a": "clip\u2028\x85", "b": "none"}


def test_two_runs_do_not_share_a_folder(cholec: Path, tmp_path: Path) -> None:
    asked = ["task", "run", "phase-c80", "--data", str(cholec), "--out", str(tmp_path / "runs")]
    done = CliRunner().invoke(build_app(), [*asked, "--model", "constant:a b", "--model", "constant:a/b"])
    assert isinstance(done.exception, Misuse)
    assert "would both be written to" in str(done.exception)


def test_a_server_that_lets_nobody_in_is_not_a_model_that_is_wrong(clips: Path) -> None:
    runner, app, runs = CliRunner(), build_app(), clips / "runs"
    with serving(says(Answer(b'{"error": {"message": "bad key"}}', 401))) as server:
        asked = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(clips / "store")]
        done = runner.invoke(app, [*asked, "--model", f"openai:m@{server.url}", "--out", str(runs)])
    assert done.exit_code == 1
    assert "requests are to be asked again (HTTP 401" in task_board([runs]).table["doubt"][0]


def test_no_secret_of_an_address_or_a_key_is_written_or_said(clips: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SURGVALID_API_KEY", "sk-of-ours-0123456789")
    secrets = ("pass-word", "query-secret", "sk-of-ours-0123456789")
    with serving(says(completion("clip"))) as server:
        spec = f"openai:m@{server.url.replace('http://', 'http://me:pass-word@')}?key=query-secret"
        asked = ["task", "run", str(clips / "clip.toml"), "--data", str(clips), "--store", str(clips / "store")]
        said = CliRunner().invoke(build_app(), [*asked, "--out", str(clips / "runs"), "--model", spec])
        said_dry = CliRunner().invoke(build_app(), [*asked, "--model", spec, "--dry-run"])
        assert server.asked == 4
        assert server.paths[0].endswith("?key=query-secret"), "it is sent where it belongs"
    assert (said.exit_code, said_dry.exit_code) == (0, 0), said.output
    written = [path for path in clips.rglob("*") if path.is_file()]
    assert len(written) > 10
    for secret in secrets:
        assert secret not in said.output + said_dry.output
        assert not [path for path in written if secret in str(path) or secret.encode() in path.read_bytes()]


def test_prompts_and_examples_are_swept_in_one_command_and_compared_over_videos(tmp_path: Path) -> None:
    """By the second wording one case more in every video is answered rightly, and two more in every other one."""
    prompt = "[[prompt]]\nfamily = 'chat'\nversion = '{}'\ntext = '{}'\n"
    task = _of_six_videos(tmp_path, prompt.format("short", "Clip?") + prompt.format("long", "Clip or nothing, please?"))

    def answer(number: int, body: dict[str, Any]) -> Answer:
        video, place = divmod(int(pictures_in(body)[-1].mean()) // 10, 4)
        right, wrong = ("clip", "nothing") if place % 2 else ("nothing", "clip")
        most = 2 + video % 2 if "please" in json.dumps(body) else 1
        return completion(right if place <= most else wrong)

    runner, app, runs = CliRunner(), build_app(), tmp_path / "runs"
    with serving(answer, sees=True) as server:
        line = ["task", "run", str(task), "--data", str(tmp_path), "--store", str(tmp_path / "store")]
        line += ["--model", f"openai:m@{server.url}", "--out", str(runs), "--prompts", "short+long"]
        swept = runner.invoke(app, line)
    assert swept.exit_code == 0, swept.output
    assert [path.parent.name.rpartition("-")[2] for path in sorted(runs.rglob("run.json"))] == ["long", "short"]
    row = task_board([runs], published=False, contrast="ways").tables["contrasts"].row(0, named=True)
    assert row["statement"] == "short, 0-shot against long, 0-shot"
    assert row["difference"] == pytest.approx(-0.375)
    assert -0.55 < row["low"] < row["difference"] < row["high"] < -0.2
    assert "long, 0-shot against" in swept.output, "the first that was named is the one to compare with"
    alone = runner.invoke(app, [*line[:-2], "--shots", "0,1", "--prompts", "short"])
    assert alone.exit_code != 0, "the folder is taken"
    for wrong, why in ((["--shots", "-1"], "of 0 or more"), (["--prompts", "short+best"], "best")):
        refused = runner.invoke(app, [*line[:-2], *wrong, "--force"])
        assert refused.exit_code
        assert why in str(refused.exception)
    missing = [word for word in line if word not in ("--out", str(runs))]
    assert "--out: name a folder" in str(runner.invoke(app, missing).exception)


def _of_six_videos(folder: Path, prompts: str) -> Path:
    """A task of one's own with six videos of four images."""
    rows = ["case,video,file,object"]
    for number in range(24):
        write_png(np.full((8, 8, 3), 10 * number, dtype=np.uint8), folder / f"{number}.png")
        rows.append(f"c{number},v{number // 4},{number}.png,{'clip' if number % 2 else 'nothing'}")
    (folder / "cases.csv").write_text("\n".join(rows), encoding="utf-8")
    (folder / "prompts.toml").write_text(prompts)
    task = folder / "clip.toml"
    task.write_text(
        'title = "Clip"\nsummary = "Whether a clip is there"\nprompts = "prompts.toml"\n[data]\nlayout = "cases"\n'
        '[media]\nkind = "image"\nfiles = ["{file}"]\n[answer]\nform = "choice"\nclasses = ["clip", "nothing"]\n'
        'column = "object"\n[metrics]\nnames = ["accuracy"]\nheadline = "accuracy"\n'
    )
    return task
