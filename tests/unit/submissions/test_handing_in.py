"""Handing in: whole or not at all, within the limits of the phase, and looked at before anything is run."""

from __future__ import annotations

import hashlib
import json
import threading
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hostile_programs import good
from image_archives import archive, busybox_layer, docker_members
from surgvalid import results
from surgvalid.cli import build_app
from surgvalid.errors import InputInvalid, Misuse, RunInterrupted, UploadRefused
from surgvalid.submissions.handing_in import handed_in_image, take_submission
from surgvalid.submissions.phase import SubmissionPhase, phase_of
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.phase_scores import score_submission
from surgvalid.submissions.phase_status import mark_submission, status_of, submission_status
from surgvalid.submissions.stages import Stage, note_stage
from surgvalid.submissions.starter import new_pack
from surgvalid.submissions.uploads import Uploads


def phase(**upload: int) -> SubmissionPhase:
    return phase_of({
        "name": "p", "track": "frame", "engines": ["process"], "upload": upload,
        "budget": {"state": "free", "seconds": 20},
    })  # fmt: skip


@pytest.fixture
def image(tmp_path: Path) -> Path:
    return archive(tmp_path / "team.tar", docker_members([busybox_layer()]))


@pytest.fixture
def method(tmp_path: Path) -> Path:
    (tmp_path / "method.md").write_text("# Ours\n\nA very good method.\n")
    return tmp_path / "method.md"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    new_pack(tmp_path / "pack")
    (tmp_path / "pack" / "example_input" / "references.json").rename(tmp_path / "references.json")
    return tmp_path / "pack" / "example_input"


def stages(run: Path) -> list[str]:
    return [row["stage"] for row in status_of(run)["history"]]


def test_what_arrived_is_what_was_handed_in_and_intake_has_looked_at_it(
    image: Path, method: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "a"
    result = take_submission(phase(most_piece_bytes=4096), run, team="blue", image=image, description=method)
    assert result.stage == "intake_ok"
    assert (run / "handed-in" / "image.tar").read_bytes() == image.read_bytes()
    assert (run / "handed-in" / "description.md").read_bytes() == method.read_bytes()
    assert stages(run) == ["uploaded", "intake_ok"]
    uploaded = status_of(run)["history"][0]
    assert uploaded["team"] == "blue"
    assert uploaded["files"]["image.tar"] == hashlib.sha256(image.read_bytes()).hexdigest()
    assert handed_in_image(run) == run / "handed-in" / "image.tar"
    intake = results.read(run / "intake")
    assert set(intake.tables["checks"]["about"]) == {"image", "description"}
    assert (intake.request.verb, intake.request.options) == ("submission hand-in", {"team": "blue"})
    assert intake.request.settled["files"] == uploaded["files"]
    assert not list((tmp_path / "runs" / ".uploads").iterdir()), "no record is left of a finished upload"


def test_an_interrupted_hand_in_goes_on_where_it_stopped_and_blocks_nobody(
    image: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limits, run, sent = phase(most_piece_bytes=1 << 16, most_open=1), tmp_path / "runs" / "a", []
    whole = Uploads.add

    def cut(self: Uploads, *names: Any, offset: int, **piece: Any) -> int:
        sent.append(offset)
        if len(sent) == 3:
            raise KeyboardInterrupt
        return whole(self, *names, offset=offset, **piece)

    monkeypatch.setattr(Uploads, "add", cut)
    with pytest.raises(KeyboardInterrupt):
        take_submission(limits, run, team="blue", image=image)
    assert not (run / "handed-in" / "image.tar").exists()
    assert stages(run) == []
    assert take_submission(limits, run, team="blue", image=image).stage == "intake_ok"
    assert sent[:4] == [0, 1 << 16, 2 << 16, 2 << 16]


def test_limits_of_the_phase_hold_and_nothing_is_stored(image: Path, method: Path, tmp_path: Path) -> None:
    with pytest.raises(UploadRefused, match="allowed are 1 to 100"):
        take_submission(phase(most_bytes=100), tmp_path / "runs" / "a", image=image)
    uploads = Uploads(tmp_path / "runs" / ".uploads")
    for number in range(2):
        uploads.begin("blue", size_bytes=5, digest=f"{number}" * 64)
    with pytest.raises(UploadRefused, match="2 uploads are unfinished"):
        take_submission(phase(), tmp_path / "runs" / "b", team="blue", description=method)
    assert take_submission(phase(), tmp_path / "runs" / "c", team="red", description=method).stage == "intake_ok"
    assert not list((tmp_path / "runs").glob("[ab]/handed-in/*"))


def test_of_two_that_hand_in_different_files_at_once_one_wins_and_the_other_hears_of_it(
    image: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.tar"
    other.write_bytes(image.read_bytes() + bytes(1024))
    outcomes: list[str] = []

    def hand_in(source: Path) -> None:
        try:
            take_submission(phase(), tmp_path / "runs" / "a", team=source.name, image=source)
            outcomes.append("taken")
        except Misuse:
            outcomes.append("refused")

    threads = [threading.Thread(target=hand_in, args=(source,)) for source in (image, other)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(outcomes) == ["refused", "taken"]
    stored = (tmp_path / "runs" / "a" / "handed-in" / "image.tar").read_bytes()
    assert stored in (image.read_bytes(), other.read_bytes())
    assert not list((tmp_path / "runs" / ".uploads").iterdir())


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.md", b"<script>alert(1)</script>"),
        ("bad.md", b"[x](javascript&#58;alert(1))"),
        ("bad.pdf", b"%PDF-1.4\n1 0 obj << /OpenAction << /S /JavaScript /JS (x) >> >> endobj"),
        ("bad.html", b"<p>hello</p>"),
    ],
)
def test_a_description_that_acts_is_refused_with_the_whole_submission(
    name: str, content: bytes, image: Path, questions: Path, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(content)
    run = tmp_path / "runs" / "a"
    result = take_submission(phase(), run, image=image, description=tmp_path / name)
    assert (result.stage, result.is_refused) == ("intake_refused", True)
    status = status_of(run)
    assert (status["stage"], status["codes"]) == ("intake_refused", ["handed-in-refused"])
    assert not list((run / "handed-in").glob("*.html"))
    with pytest.raises(Misuse, match="is intake_refused"):
        run_submission(phase(), questions, out=run)


def test_an_image_that_intake_refuses_is_not_run(questions: Path, tmp_path: Path) -> None:
    (tmp_path / "team.tar").write_bytes(b"no archive at all")
    run = tmp_path / "runs" / "a"
    assert take_submission(phase(), run, image=tmp_path / "team.tar").stage == "intake_refused"
    with pytest.raises(Misuse, match="hand in again the part that was refused"):
        run_submission(phase(), questions, out=run)


def test_what_was_refused_is_not_let_in_by_what_is_handed_in_later(
    image: Path, questions: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.md").write_text("<script>alert(1)</script>")
    run = tmp_path / "runs" / "a"
    assert take_submission(phase(), run, description=tmp_path / "bad.md").stage == "intake_refused"
    result = take_submission(phase(), run, image=image)
    assert (result.stage, set(result.tables["checks"]["about"])) == ("intake_refused", {"image", "description"})
    with pytest.raises(Misuse, match="is intake_refused"):
        run_submission(phase(), questions, out=run)


def test_a_part_that_was_refused_makes_way_for_a_mended_one_and_the_other_stays(
    image: Path, method: Path, tmp_path: Path
) -> None:
    (tmp_path / "bad.txt").write_text("<script>alert(1)</script>")
    run = tmp_path / "runs" / "a"
    assert take_submission(phase(), run, image=image, description=tmp_path / "bad.txt").stage == "intake_refused"
    assert take_submission(phase(), run, description=method).stage == "intake_ok"
    assert handed_in_image(run) == run / "handed-in" / "image.tar"
    assert sorted(path.name for path in (run / "handed-in").iterdir()) == ["description.md", "image.tar"]
    assert stages(run) == ["uploaded", "intake_refused", "uploaded", "intake_ok"]


def test_a_folder_of_another_phase_takes_nothing_in(image: Path, method: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "a"
    take_submission(phase(), run, description=method)
    with pytest.raises(Misuse, match="belongs to another phase"):
        take_submission(phase(most_open=3), run, image=image)
    assert handed_in_image(run) is None


def test_what_was_handed_in_is_what_is_run_and_nothing_else(image: Path, questions: Path, tmp_path: Path) -> None:
    run = tmp_path / "runs" / "a"
    take_submission(phase(), run, image=image)
    with pytest.raises(Misuse, match="leave out what else to run"):
        run_submission(phase(), questions, out=run, command=("true",))
    with pytest.raises(Misuse, match="runs commands, not images"):  # the image of the folder reached the engine
        run_submission(phase(), questions, out=run)


def test_other_files_and_later_ones_belong_into_another_folder(
    image: Path, method: Path, questions: Path, tmp_path: Path
) -> None:
    run = tmp_path / "runs" / "a"
    take_submission(phase(), run, description=method)
    take_submission(phase(), run, description=method)
    method.write_text("Another one.")
    with pytest.raises(Misuse, match="was handed in before and is another file"):
        take_submission(phase(), run, description=method)
    run_submission(phase(), questions, out=run, command=good(tmp_path / "program"))
    with pytest.raises(Misuse, match="was run already"):
        take_submission(phase(), run, image=image)
    with pytest.raises(Misuse, match="hand in an image"):
        take_submission(phase(), tmp_path / "runs" / "b")


def scored(run: Path, questions: Path) -> None:
    references = questions.parents[1] / "references.json"
    score_submission(phase(), run, requests=questions / "request.json", references=references, replicates=10)


def test_cancelled_and_disqualified_end_everything_until_they_are_taken_back(questions: Path, tmp_path: Path) -> None:
    run, command = tmp_path / "run", good(tmp_path / "program")
    run_submission(phase(), questions, out=run, command=command)
    mark_submission(run, "cancelled", reason="the team asked for it")
    assert status_of(run)["stage"] == "cancelled"
    with pytest.raises(Misuse, match=r"was cancelled at .*the team asked for it"):
        run_submission(phase(), questions, out=run, command=command)
    with pytest.raises(InputInvalid, match=r"was cancelled"):
        scored(run, questions)
    assert mark_submission(run, "reinstated", reason="a mistake")["stage"] == "inferred"
    scored(run, questions)
    assert mark_submission(run, "published", reason="leaderboard 1")["stage"] == "published"
    published = status_of(run)["history"][-1]
    assert published["scores"] == hashlib.sha256((run / "scores" / "manifest.json").read_bytes()).hexdigest()
    assert mark_submission(run, "disqualified", reason="two accounts")["stage"] == "disqualified"
    assert mark_submission(run, "reinstated", reason="they were two people")["stage"] == "published"
    assert stages(run)[2:] == ["cancelled", "reinstated", "scored", "published", "disqualified", "reinstated"]
    reasons = submission_status(run).tables["history"]["reason"].to_list()
    assert reasons[-1] == "they were two people"


@pytest.mark.parametrize(
    ("stage", "reason", "problem"),
    [
        ("published", "x", "only what is scored can be published"),
        ("reinstated", "x", "only what is cancelled or disqualified"),
        ("scored", "x", "marked as one of published, cancelled, disqualified, reinstated"),
        ("cancelled", "  ", "needs a reason"),
        ("cancelled", "x" * 1001, "needs a reason of 1 to 1000"),
    ],
)
def test_a_decision_that_cannot_be_taken_now_is_refused(stage: str, reason: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "run").mkdir()
    with pytest.raises(Misuse, match=r"holds no submission|marked as one of|needs a reason"):
        mark_submission(tmp_path / "run", stage, reason=reason)
    note_stage(tmp_path / "run", Stage.INTAKE_OK)
    with pytest.raises(Misuse, match=problem):
        mark_submission(tmp_path / "run", stage, reason=reason)
    assert status_of(tmp_path / "run")["stage"] == "intake_ok"


def test_a_run_that_is_cancelled_while_it_works_stops_at_the_next_question(questions: Path, tmp_path: Path) -> None:
    run, asked = tmp_path / "run", []

    def cancel(_: int) -> None:
        asked.append(1)
        if len(asked) == 1:
            mark_submission(run, "cancelled", reason="wrong image")

    with pytest.raises(RunInterrupted, match=r"was cancelled"):
        run_submission(phase(), questions, out=run, command=good(tmp_path / "program"), progress=cancel)
    assert len(asked) == 1
    assert status_of(run)["stage"] == "cancelled"
    assert "failed_infra" not in stages(run)


def test_a_history_that_names_an_unknown_stage_is_read_and_told(tmp_path: Path) -> None:
    (tmp_path / "stages.jsonl").write_text('{"stage": "launched", "at": "now"}\n{"stage": "uploaded", "at": "now"}\n')
    status = status_of(tmp_path)
    assert status["stage"] == "uploaded"
    assert status["problems"] == ["stages.jsonl: no such stage: 'launched'"]


def test_the_status_names_the_log_of_trouble(tmp_path: Path) -> None:
    assert status_of(tmp_path)["logs"] == []
    log = tmp_path / "shard-1-of-1" / "log-of-trouble.txt"
    log.parent.mkdir()
    log.write_text("out of memory\n")
    assert status_of(tmp_path)["logs"] == [str(log)]
    assert submission_status(tmp_path).title.endswith(f"; printed in trouble: {log}")


def test_the_verbs_hand_in_and_mark(image: Path, method: Path, tmp_path: Path) -> None:
    (tmp_path / "phase.toml").write_text('name = "p"\ntrack = "frame"\nengines = ["process"]\n')
    common = ["--phase", str(tmp_path / "phase.toml"), "--run", str(tmp_path / "runs" / "a")]
    words = ["host", "phase", "hand-in", *common, "--container", str(image), "--description", str(method), "--json"]
    done = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert (done.exit_code, json.loads(done.stdout)["stage"]) == (0, "intake_ok")
    run = ["--run", str(tmp_path / "runs" / "a")]
    words = ["host", "phase", "mark", "disqualified", *run, "--reason", "two accounts", "--json"]
    done = CliRunner().invoke(build_app(), words, catch_exceptions=False)
    assert (done.exit_code, json.loads(done.stdout)["stage"]) == (0, "disqualified")
