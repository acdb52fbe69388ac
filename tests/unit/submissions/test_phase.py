"""The phase file: every limit in one checked place, and a submission run, scored and watched as it says."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import tomllib
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hostile_programs import good
from repository import REPOSITORY
from submission_runs import events, records, rules, tasks
from surgvalid import results
from surgvalid.asking.driver import run_tasks
from surgvalid.asking.journal import append_event
from surgvalid.asking.plan import AskingRules
from surgvalid.asking.session import Participant
from surgvalid.cli import build_app
from surgvalid.errors import EngineFailed, HiddenDataRefused, ImageRefused, InputInvalid, Misuse
from surgvalid.sandbox import ENGINES, Guarantee, ImageLimits, Launch, Limits, Running, open_engine
from surgvalid.sandbox.process import ProcessEngine
from surgvalid.schema.shard import Shard
from surgvalid.submissions import intake, phase_run, phase_scores
from surgvalid.submissions.evidence import canary_verdict, compliance_of, doubled
from surgvalid.submissions.intake import check_submission
from surgvalid.submissions.phase import SECTIONS, SubmissionPhase, phase_of, read_phase
from surgvalid.submissions.phase_run import run_submission
from surgvalid.submissions.phase_scores import score_submission
from surgvalid.submissions.phase_status import status_of, submission_status
from surgvalid.submissions.rehearsal import phase_settings, rehearse
from surgvalid.submissions.results import p95_bound, run_facts
from surgvalid.submissions.starter import new_pack
from surgvalid.submissions.uploads import UploadLimits

TOML = """
name = "preliminary"
track = "frame"
engines = ["process"]
[run]
memory_mb = 4096
scratch_mb = 512
[weights]
size_mb = 1
[budget]
seconds = 20
restarts = 1
state = "free"
"""


@pytest.fixture
def phase_file(tmp_path: Path) -> Path:
    (tmp_path / "phase.toml").write_text(TOML)
    return tmp_path / "phase.toml"


@pytest.fixture
def questions(tmp_path: Path) -> Path:
    """The questions of the starter pack without references, which lie elsewhere."""
    new_pack(tmp_path / "pack")
    shutil.move(tmp_path / "pack" / "example_input" / "references.json", tmp_path / "references.json")
    return tmp_path / "pack" / "example_input"


def scored(phase: SubmissionPhase, questions: Path, run: Path) -> Any:
    return score_submission(
        phase, run, requests=questions / "request.json", references=questions.parents[1] / "references.json",
        replicates=10,
    )  # fmt: skip


def codes(status: dict[str, Any]) -> list[str]:
    """What a status says of the submission; how busy the machine is that tests it is another matter."""
    return [code for code in status["codes"] if code != "machine-slower"]


def test_every_limit_can_be_set_and_only_those() -> None:
    for kind, left_out in ((Limits, set()), (ImageLimits, {"architecture"}), (UploadLimits, set()),
                           (AskingRules, {"track", "poll_s"})):  # fmt: skip
        (section,) = (one for one in SECTIONS.values() if one.kind is kind)
        assert set(section.names.values()) == {one.name for one in fields(kind)} - left_out


def test_what_is_read_is_what_holds(phase_file: Path) -> None:
    phase = read_phase(phase_file)
    assert (phase.run.memory_mb, phase.run.tmp_mb, phase.budget.budget_s) == (4096, 512, 20.0)
    assert phase.budget.most_restarts == 1
    given = {key: value for key, value in phase.as_dict().items() if value is not None}
    assert phase_of(json.loads(json.dumps(given))) == phase


def test_every_problem_is_listed() -> None:
    with pytest.raises(InputInvalid) as caught:
        phase_of({
            "nam": "x", "track": "film", "hidden": "yes", "engines": ["vm"], "protocol": "batch", "warm_up": "gone.mp4",
            "run": {"memory_mb": "4", "scratch": 3, "cpuset": "all"}, "budget": {"restarts": -1, "state": "none"},
            "gpu": {"count": 2}, "image": 7, "upload": {"most_open": True},
        })  # fmt: skip
    text = " ".join(caught.value.problems)
    for word in ("'name'?", "name is missing", "track must", "hidden must", "engines must", "protocol must", "warm_up",
                 "[run] memory_mb", "'scratch_mb'?", "restarts must", "state must", "count must be 0 or 1",
                 "image must be a table", "most_open must"):  # fmt: skip
        assert word in text, word


@pytest.mark.parametrize("wrong", [{"engines": []}, {"engines": 5, "hidden": True}, {"engines": [["process"]]}])
def test_engines_are_some_that_there_are(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputInvalid, match="engines must be a list of some of"):
        phase_of({"name": "x", "track": "frame"} | wrong)


def test_a_track_of_another_kind_is_refused_as_any_other() -> None:
    with pytest.raises(InputInvalid, match=r"track must be one of .* got \['frame'\]"):
        phase_of({"name": "x", "track": ["frame"]})


def test_the_engine_is_one_that_can_run_what_was_handed_in(phase_file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Images(ProcessEngine):
        def check(self, launch: Launch) -> None:
            if launch.image is None:
                raise Misuse("this engine runs images")

    monkeypatch.setattr(intake, "open_engine", lambda name, runtime: Images() if name == "podman" else ProcessEngine())
    phase = phase_of({"name": "x", "track": "frame", "engines": ["bubblewrap", "podman"]})
    assert isinstance(intake.phase_engine(phase, launch=Launch(image="i")), Images)
    assert not isinstance(intake.phase_engine(phase, launch=Launch(command=("true",))), Images)
    with pytest.raises(Misuse, match=r"bubblewrap: .* hidden data.*; podman: this engine runs images"):
        intake.phase_engine(phase, launch=Launch(command=("true",), hidden=True))
    hidden = phase_of({"name": "x", "track": "frame", "engines": ["bubblewrap"], "hidden": True})
    (refused,) = (f for f in check_submission(hidden).findings if f.severity == "error")
    assert (refused.code, "must not see hidden data" in refused.message) == ("engine-refused", True)


def test_a_machine_that_has_less_than_the_phase_gives_is_refused_and_a_rehearsal_says_so(
    questions: Path, tmp_path: Path
) -> None:
    class Limiting(ProcessEngine):
        guarantees = frozenset(Guarantee)

    given = {"cpus": 1e4, "memory_mb": 10**9, "cpuset": "0,9000-9001"}
    phase = phase_of({"name": "x", "track": "frame", "engines": ["bubblewrap"], "run": given})
    reasons = r"10000 processors of \d+; processor 9000, 9001 of cpuset .*; 1000000000 MB of memory of \d+"
    command = good(tmp_path / "program")
    with pytest.raises(Misuse, match=reasons):
        run_submission(phase, questions, out=tmp_path / "out", command=command, engine=Limiting())
    assert not (tmp_path / "out").exists()
    found = rehearse(questions, out=tmp_path / "rehearsal", command=command, settings=phase_settings(phase))
    codes = {finding.code: finding.message for finding in found.findings}
    assert "holds none of its limits" in codes["other-engine"]
    assert re.search(reasons, codes["smaller-machine"])


def test_hidden_questions_and_an_engine_that_keeps_nothing_in_contradict_each_other() -> None:
    with pytest.raises(InputInvalid, match="keeps nothing in"):
        phase_of({"name": "x", "track": "frame", "hidden": True, "engines": ["process"]})


def test_a_scratch_folder_that_could_never_be_filled_is_refused() -> None:
    with pytest.raises(InputInvalid, match=r"\[run\] scratch_mb is above memory_mb"):
        phase_of({"name": "x", "track": "frame", "run": {"memory_mb": 100, "scratch_mb": 200, "shm_mb": 10}})


def test_shards_share_out_all_videos_once() -> None:
    videos = [f"video {number}" for number in range(200)]
    parts = [[video for video in videos if Shard(number, 4).holds(video)] for number in range(1, 5)]
    assert sorted(video for part in parts for video in part) == sorted(videos)
    assert min(map(len, parts)) > 25
    for wrong in ("0/4", "5/4", "1", "a/b", "1/0"):
        with pytest.raises(Misuse, match="a shard is I/N"):
            Shard.read(wrong)


def test_shards_together_score_as_the_whole(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    phase = read_phase(phase_file)
    command = good(tmp_path / "program", "return 'yes' if 'sponge' in question['question'] else '1'")
    run_submission(phase, questions, out=tmp_path / "whole", command=command)
    whole = scored(phase, questions, tmp_path / "whole")
    for number in range(1, 5):
        run_submission(phase, questions, out=tmp_path / "parts", command=command, shard=Shard(number, 5))
    with pytest.raises(InputInvalid, match="shards 5 of 5 are missing"):
        scored(phase, questions, tmp_path / "parts")
    run_submission(phase, questions, out=tmp_path / "parts", command=command, shard=Shard(5, 5))
    assert repr(scored(phase, questions, tmp_path / "parts").headline) == repr(whole.headline)
    status = status_of(tmp_path / "whole")
    assert (status["stage"], codes(status)) == ("scored", [])
    assert [row["stage"] for row in status["history"]] == ["running", "inferred", "scored"]
    assert all(row["at"] for row in status["history"])


def test_shards_of_other_settings_or_another_program_are_not_scored_together(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    phase = read_phase(phase_file)
    ours, theirs = good(tmp_path / "ours"), good(tmp_path / "theirs", "return 'other'")
    run_submission(phase, questions, out=tmp_path / "out", command=ours, shard=Shard(1, 2))
    run_submission(phase, questions, out=tmp_path / "out", command=theirs, shard=Shard(2, 2))
    with pytest.raises(InputInvalid, match=r"shards 1/2 and 2/2 are not of one program: command, files differ"):
        scored(phase, questions, tmp_path / "out")
    phase_file.write_text(TOML.replace("seconds = 20", "seconds = 200"))
    run_submission(read_phase(phase_file), questions, out=tmp_path / "there", command=ours, shard=Shard(2, 2))
    shutil.rmtree(tmp_path / "out" / "shard-2-of-2")
    shutil.copytree(tmp_path / "there" / "shard-2-of-2", tmp_path / "out" / "shard-2-of-2")
    with pytest.raises(InputInvalid, match="shard 2/2 was run with other settings"):
        scored(phase, questions, tmp_path / "out")


def test_shards_of_several_cuts_are_not_a_finished_run(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    phase, command = read_phase(phase_file), good(tmp_path / "program")
    run_submission(phase, questions, out=tmp_path / "out", command=command)
    run_submission(phase, questions, out=tmp_path / "out", command=command, shard=Shard(1, 2))
    status = status_of(tmp_path / "out")
    assert (status["stage"], codes(status)) == ("queued", ["mixed-shards"])


def test_questions_that_were_changed_since_they_were_asked_are_not_scored(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    phase = read_phase(phase_file)
    run_submission(phase, questions, out=tmp_path / "out", command=good(tmp_path / "program"))
    requests = questions / "request.json"
    requests.write_text(requests.read_text().replace("Is a sponge visible?", "Is no sponge visible?"))
    with pytest.raises(InputInvalid, match="shard 1/1 was asked other questions under the same identifiers"):
        scored(phase, questions, tmp_path / "out")


def test_a_run_never_sees_references(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    shutil.copy(tmp_path / "references.json", questions / "references.json")
    with pytest.raises(Misuse, match="no references where submissions run"):
        run_submission(read_phase(phase_file), questions, out=tmp_path / "out", command=good(tmp_path / "program"))
    assert not (tmp_path / "out").exists()


def test_references_are_noticed_below_and_in_capitals(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    (questions / "later").mkdir()
    for name in ("later/reference.csv", "REFERENCES.JSON"):
        shutil.copy(tmp_path / "references.json", questions / name)
        with pytest.raises(Misuse, match=name):
            run_submission(read_phase(phase_file), questions, out=tmp_path / "out", command=good(tmp_path / "program"))
        (questions / name).unlink()


def test_a_question_without_its_frame_is_the_organisers_fault_and_nothing_is_run(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    (questions / "frames" / "example-3.png").unlink()
    (questions / "frames" / "example-1.png").write_bytes(b"")
    phase, command = read_phase(phase_file), good(tmp_path / "program")
    with pytest.raises(InputInvalid) as caught:
        run_submission(phase, questions, out=tmp_path / "out", command=command)
    assert [problem.split(":")[0] for problem in caught.value.problems] == ["example-1", "example-3"]
    assert not (tmp_path / "out").exists()
    held = next(number for number in (1, 2) if not Shard(number, 2).holds("video-3"))
    (questions / "frames" / "example-1.png").write_bytes((questions / "frames" / "example-2.png").read_bytes())
    run_submission(phase, questions, out=tmp_path / "out", command=command, shard=Shard(held, 2))


def test_a_folder_that_is_not_there_has_no_status(tmp_path: Path) -> None:
    with pytest.raises(Misuse, match="no folder of a submission"):
        submission_status(tmp_path / "typo")


def test_scoring_never_opens_an_engine(
    phase_file: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phase = read_phase(phase_file)
    run_submission(phase, questions, out=tmp_path / "out", command=good(tmp_path / "program"))

    def forbidden(*_: object, **__: object) -> None:
        raise AssertionError("an engine was opened")

    for name in ENGINES:
        monkeypatch.setattr(ENGINES[name], "start", forbidden)
        monkeypatch.setattr(ENGINES[name], "check", forbidden)
    assert scored(phase, questions, tmp_path / "out").headline["accuracy"] >= 0
    assert "sandbox" not in Path(phase_scores.__file__).read_text()


def test_other_settings_are_another_run_and_are_not_scored_as_this_one(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    phase, command = read_phase(phase_file), good(tmp_path / "program")
    run_submission(phase, questions, out=tmp_path / "out", command=command)
    phase_file.write_text(TOML.replace("seconds = 20", "seconds = 21"))
    other = read_phase(phase_file)
    with pytest.raises(Misuse, match="other settings"):
        run_submission(other, questions, out=tmp_path / "out", command=command)
    with pytest.raises(InputInvalid, match="other settings"):
        scored(other, questions, tmp_path / "out")
    assert codes(status_of(tmp_path / "out", other)) == ["other-settings"]


def test_the_refusal_of_weak_engines_is_reachable(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    phase_file.write_text(TOML.replace('engines = ["process"]', 'engines = ["bubblewrap"]\nhidden = true'))
    phase = read_phase(phase_file)
    with pytest.raises(HiddenDataRefused):
        run_submission(
            phase, questions, out=tmp_path / "out", command=good(tmp_path / "program"), engine=ProcessEngine()
        )
    with pytest.raises(Misuse, match="runs in bubblewrap"):
        run_submission(phase, questions, out=tmp_path / "out", command=("true",), engine="process")
    assert not (tmp_path / "out").exists()


def test_a_run_that_was_stopped_goes_on_and_its_stage_says_so(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    phase, command = read_phase(phase_file), good(tmp_path / "program")
    seen: list[str] = []

    def stop(_: int) -> None:
        seen.append(status_of(tmp_path / "out")["stage"])
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_submission(phase, questions, out=tmp_path / "out", command=command, progress=stop)
    assert seen == ["running"]
    assert status_of(tmp_path / "out")["stage"] == "failed_infra"
    with pytest.raises(InputInvalid, match="is not finished"):
        scored(phase, questions, tmp_path / "out")
    run_submission(phase, questions, out=tmp_path / "out", command=command)
    after = status_of(tmp_path / "out")
    assert after["stage"] == "inferred"
    assert after["shards"][0]["verdict"] in ("slower", "unknown"), "nobody measured the machine after the first go"


def test_a_second_start_leaves_no_trace_on_the_one_at_work(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    phase, command, out = read_phase(phase_file), good(tmp_path / "program"), tmp_path / "out"

    def again(_: int) -> None:
        with pytest.raises(Misuse, match="another process is at work"):
            run_submission(phase, questions, out=out, command=command)

    run_submission(phase, questions, out=out, command=command, progress=again)
    assert [row["stage"] for row in status_of(out)["history"]] == ["running", "inferred"]


def test_a_program_that_never_becomes_ready_is_the_participants_failure(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    run_submission(read_phase(phase_file), questions, out=tmp_path / "out", command=("/bin/false",))
    status = status_of(tmp_path / "out")
    assert status["stage"] == "failed_participant"
    assert codes(status) == ["answers-crashed", "never-ready", "no-restart-left"]


def test_an_image_that_intake_refuses_is_a_stage(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    class Strict(ProcessEngine):
        def check(self, launch: object) -> None:
            return None

        def store(self, archive: Path, limits: ImageLimits | None = None) -> str:
            raise ImageRefused(archive.name, ["it starts nothing"])

    with pytest.raises(ImageRefused):
        run_submission(
            read_phase(phase_file), questions, out=tmp_path / "out", image=tmp_path / "image.tar", engine=Strict()
        )
    assert status_of(tmp_path / "out")["stage"] == "intake_refused"
    assert status_of(tmp_path / "out")["codes"] == ["image-refused"]


def test_what_a_run_was_measured_on_is_kept(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    place = run_submission(read_phase(phase_file), questions, out=tmp_path / "out", command=good(tmp_path / "program"))
    (kept,) = events(place, "evidence")
    assert kept["kernel"]
    assert kept["canary"] == "process"
    assert kept["canary_before_s"] > 0
    assert kept["verdict"] in ("ok", "slower")
    manifest = json.loads((place / "manifest.json").read_text())
    assert (manifest["verb"], manifest["options"]["shard"]) == ("submission run", "1/1")
    assert manifest["settled"]["phase"]["budget"]["seconds"] == 20
    assert [one["file"] for one in manifest["inputs"]] == ["request.json"]


def test_the_canary_runs_before_and_after_under_the_limits_of_the_entrant(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    launches: list[Launch] = []

    class Recording(ProcessEngine):
        def start(self, launch: Launch) -> Running:
            launches.append(launch)
            return super().start(launch)

    phase, command = read_phase(phase_file), good(tmp_path / "program")
    run_submission(phase, questions, out=tmp_path / "out", command=command, engine=Recording())
    assert [Path(launch.command[0]).name == "canary" for launch in launches] == [True, False, True]
    assert [launch.limits for launch in launches] == [phase.run] * 3


def test_a_call_that_asks_nothing_adds_no_evidence_and_a_slow_machine_stays_slow(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    phase, command = read_phase(phase_file), good(tmp_path / "program")
    place = run_submission(phase, questions, out=tmp_path / "out", command=command)
    run_submission(phase, questions, out=tmp_path / "out", command=command)
    assert len(events(place, "evidence")) == 1
    append_event(place, "evidence", verdict="slower")
    append_event(place, "evidence", verdict="ok")
    assert "machine-slower" in status_of(tmp_path / "out")["codes"]


@pytest.mark.parametrize(
    ("after_s", "percent", "verdict"),
    [(1.2, 20.0, "ok"), (1.21, 20.0, "slower"), (1.19, 20.0, "ok"), (1.21, 25.0, "ok"), (0.5, 0.0, "ok"),
     (1.01, 0.0, "slower"), (None, 20.0, "unknown")],
)  # fmt: skip
def test_a_machine_is_slower_beyond_the_percentage_of_the_phase_and_not_at_it(
    after_s: float | None, percent: float, verdict: str
) -> None:
    assert canary_verdict(1.0, after_s, percent=percent) == verdict


def test_a_machine_that_slowed_down_is_named_by_the_percentage_of_the_phase(
    phase_file: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([1.0, 1.1, 1.0, 1.3])
    monkeypatch.setattr(phase_run, "canary_s", lambda *_: next(times))
    phase, codes = read_phase(phase_file), []
    for name in ("steady", "slowed"):
        run_submission(phase, questions, out=tmp_path / name, command=good(tmp_path / "program"))
        codes.append(status_of(tmp_path / name)["codes"])
    assert phase.fairness.canary_percent == 20.0
    assert codes == [[], ["machine-slower"]]


def test_a_canary_that_cannot_be_run_afterwards_costs_its_verdict_alone(
    phase_file: Path, questions: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    times: list[float] = []

    def canary(*_: object) -> float:
        times.append(1.0)
        if len(times) > 1:
            raise EngineFailed("process", "gone")
        return 1.0

    monkeypatch.setattr(phase_run, "canary_s", canary)
    run_submission(read_phase(phase_file), questions, out=tmp_path / "out", command=good(tmp_path / "program"))
    status = status_of(tmp_path / "out")
    assert (status["stage"], status["codes"]) == ("inferred", ["machine-unknown"])


def test_weights_are_mounted_measured_and_part_of_the_run(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    weights, phase = tmp_path / "weights", read_phase(phase_file)
    weights.mkdir()
    (weights / "w.bin").write_text("0.5")
    command = good(tmp_path / "program", "return open(os.environ['SURG_WEIGHTS'] + '/w.bin').read()")
    place = run_submission(phase, questions, out=tmp_path / "out", command=command, weights=weights)
    assert '"content":"0.5"' in (place / "answers.jsonl").read_text().replace(": ", ":")
    (weights / "w.bin").write_text("0.7")
    with pytest.raises(Misuse, match="entrant: weights differ"):
        run_submission(phase, questions, out=tmp_path / "out", command=command, weights=weights)
    (weights / "w.bin").write_bytes(bytes(2 << 20))
    (weights / "link").symlink_to("/etc/passwd")
    (weights / "w.bin").chmod(0o600)
    found = check_submission(phase, weights=weights)
    assert [f.code for f in found.findings if f.severity == "error"] == ["weights-refused"] * 3
    with pytest.raises(InputInvalid, match="allowed are 1"):
        rehearse(
            questions, out=tmp_path / "rehearsal", command=command, weights=weights, settings=phase_settings(phase)
        )
    assert not (tmp_path / "rehearsal").exists()


def test_a_participant_rehearses_under_the_same_file(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    phase = read_phase(phase_file)
    found = rehearse(
        questions, out=tmp_path / "rehearsal", command=good(tmp_path / "program"), limits=phase.run,
        settings=phase_settings(phase, replicates=10),
    )  # fmt: skip
    assert found.run.outcomes == {"ok": 3}
    assert json.loads((tmp_path / "rehearsal" / "run.json").read_text())["rules"]["most_restarts"] == 1


def verb(*words: object) -> tuple[int, str]:
    done = CliRunner().invoke(build_app(), [*map(str, words)], catch_exceptions=False)
    return done.exit_code, done.stdout


def test_the_organisers_verbs_in_a_row(phase_file: Path, questions: Path, tmp_path: Path) -> None:
    (tmp_path / "method.md").write_text("# Ours\n\nA very good method.\n")
    code, text = verb("submission", "check", "--phase", phase_file, "--description", tmp_path / "method.md", "--json")
    assert (code, json.loads(text)["stage"]) == (0, "intake_ok")
    (tmp_path / "bad.md").write_text("<script>alert(1)</script>")
    code, text = verb("submission", "check", "--phase", phase_file, "--description", tmp_path / "bad.md")
    assert code == 1
    assert text.startswith("intake_refused")
    code, text = verb("submission", "check", "--phase", phase_file, "--out", tmp_path / "checks")
    assert (code, results.read(tmp_path / "checks").tables["checks"].height) == (0, 1)
    run = ["--run", tmp_path / "run"]
    words = " ".join(good(tmp_path / "program"))
    code, text = verb("host", "phase", "run", "--phase", phase_file, "--input", questions, *run, "--command", words)
    assert code == 0
    assert "inferred" in text
    code, text = verb(
        "host", "phase", "score", "--phase", phase_file, *run, "--requests", questions / "request.json", "--references",
        tmp_path / "references.json", "--resamples", 10, "--json",
    )  # fmt: skip
    assert (code, "buckets without a question" in text) == (0, True), "what the scores are worth is told with them"
    code, text = verb("host", "phase", "status", "--phase", phase_file, *run, "--json")
    assert json.loads(text)["stage"] == "scored"
    code, text = verb("host", "phase", "status", "--phase", phase_file, *run, "--out", tmp_path / "status")
    assert (code, "Stage scored" in text) == (0, True)
    shards = results.read(tmp_path / "status").tables["shards"]
    assert shards.select("shard", "stage", "questions", "ok").rows() == [("1/1", "inferred", 3, 3)]
    code, text = verb("host", "phase", "mark", "published", *run, "--reason", "the leaderboard of today")
    assert (code, text.split()) == (0, ["stage", "published"])
    again = ["host", "phase", "run", "--phase", phase_file, "--input", questions, *run, "--command", words]
    done = CliRunner().invoke(build_app(), [*map(str, again)], catch_exceptions=False)
    assert "nothing was run: answers of" in done.stderr
    assert "Stage published" in done.stdout, "a call that asks nothing changes no stage"


def test_the_page_shows_every_setting_with_its_default() -> None:
    page = (REPOSITORY / "docs" / "how-to" / "run-a-phase.md").read_text(encoding="utf-8")
    shown = tomllib.loads(page.split("```toml\n")[1].split("```")[0])
    assert phase_of(shown) == phase_of({"name": shown["name"], "track": shown["track"]})
    assert {name: set(table) for name, table in shown.items() if isinstance(table, dict)} == {
        name: set(section.names) for name, section in SECTIONS.items()
    }


@pytest.mark.parametrize(("remembers", "verdict"), [(True, "quicker"), (False, "ok")])
def test_a_compliance_run_tells_who_remembers_answers(
    remembers: bool, verdict: str, phase_file: Path, tmp_path: Path
) -> None:
    asked = tasks(tmp_path / "media", 8, 2)
    body = (
        "kept = state.setdefault('kept', {})\nkey = question['question']\n"
        f"if {remembers} and key in kept: return kept[key]\n"
        "time.sleep(0.4)\nkept[key] = key\nreturn key"
    )
    links = tmp_path / "links"
    links.mkdir()
    twice = doubled(asked, 6, links, seed=1)
    assert len({task.request.case for task in twice}) == 12
    out = run_tasks(
        twice, engine=open_engine("process"), entrant=Participant(command=good(tmp_path / "program", body)),
        rules=rules(), out=tmp_path / "out",
    )  # fmt: skip
    found = compliance_of(out)
    assert (found.pairs, found.changed, found.verdict) == (6, 0, verdict)


def test_first_answers_of_containers_are_reported_apart_and_a_warm_up_question_takes_their_place(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    body = "return 'first' if state['asked'] == 1 else 'later'"
    phase_file.write_text(TOML.replace('state = "free"', 'state = "per_video"'))
    place = run_submission(
        read_phase(phase_file), questions, out=tmp_path / "cold", command=good(tmp_path / "program", body)
    )
    cold = records(place)
    assert {record.content for record in cold.values()} == {"first"}, "each question has a video of its own"
    assert sorted(run_facts(place).first_s) == sorted(record.latency_s for record in cold.values())
    shards = submission_status(tmp_path / "cold").tables["shards"]
    assert shards["first_s"].item() == max(record.latency_s for record in cold.values())
    (tmp_path / "warm.png").write_bytes(b"\x89PNG\r\n\x1a\n")
    phase_file.write_text('warm_up = "warm.png"\n' + phase_file.read_text())
    place = run_submission(
        read_phase(phase_file), questions, out=tmp_path / "warm", command=good(tmp_path / "program", body)
    )
    assert {record.content for record in records(place).values()} == {"later"}
    assert len(events(place, "warmed_up")) == 3
    assert run_facts(place).questions == 3


def test_the_verb_of_a_compliance_run_says_too_few_where_there_are_few(
    phase_file: Path, questions: Path, tmp_path: Path
) -> None:
    words = " ".join(good(tmp_path / "program"))
    code, text = verb(
        "host", "phase", "run", "--phase", phase_file, "--input", questions, "--run", tmp_path / "run",
        "--command", words, "--compliance", 3,
    )  # fmt: skip
    assert (code, json.loads(text)["verdict"], json.loads(text)["pairs"]) == (0, "too few", 3)


def test_a_bound_on_the_slow_end_needs_59_answers_and_covers() -> None:
    assert math.isnan(p95_bound([1.0] * 58))
    assert p95_bound([float(n) for n in range(59)]) == 58.0
    chance, covered = random.Random(3), 0
    for _ in range(2000):
        covered += p95_bound([chance.random() for _ in range(200)]) >= 0.95
    assert 0.95 <= covered / 2000 <= 0.985  # the coverage of whole order statistics at 200 is 0.973
