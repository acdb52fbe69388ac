"""`surgvalid data annotate` takes annotations through the five stages, from files to files."""

import json
from functools import cache
from pathlib import Path

import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, CrowdWorker, Detector, annotate, detect, screen_presence
from typer.testing import CliRunner, Result

from small_truth import small_truth
from surgvalid.cli import build_app
from surgvalid.datasets import write_annotations
from surgvalid.errors import FileUnreadable, Misuse, UnknownName, WouldOverwrite
from surgvalid.questions.stages.box_tables import boxes_of
from surgvalid.questions.stages.expert_questions import FORM_COLUMNS
from surgvalid.questions.stages.history import Action
from surgvalid.report.review.log import ReviewLog
from surgvalid.schema.procedures.procedure_files import read_procedure, write_procedure
from surgvalid.schema.procedures.procedure_problems import procedure_problems
from surgvalid.schema.questions.question_files import load_questions
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS
from surgvalid.simulation import draw_scene, write_clip


def run(*words: object) -> Result:
    return CliRunner().invoke(build_app(), ["data", "annotate", "run", *map(str, words)])


def done(*words: object) -> dict:
    result = run(*words, "--json")
    assert result.exit_code == 0, (result.stderr, result.exception)
    return json.loads(result.stdout)


@cache
def truth():
    return small_truth(5, 0, (3, 4))


@cache
def student():
    return annotate(truth(), BoxAnnotator("s", missed=0.08, lag=0.05, spurious_per_minute=2.0), seed=4).procedure


def test_screening_queues_clips_and_rates_workers(tmp_path):
    crowd = [CrowdWorker("good", 0.97, 0.99), CrowdWorker("poor", 0.5, 0.9), CrowdWorker("fair")]
    screen_presence(truth(), crowd, seed=1).drop("truth").write_csv(tmp_path / "answers.csv")
    shown = done("screen", tmp_path / "answers.csv", "--out", tmp_path / "out")
    worst = min(shown["workers"], key=lambda row: row["informedness"])
    assert worst["worker"] == "poor"
    clips, queue = (pl.read_csv(tmp_path / "out" / name) for name in ("clips.csv", "queue.csv"))
    assert queue.height == clips["queued"].sum()
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["verb"] == "annotate screen"


def test_boxes_of_several_annotators_are_fused_from_any_format(tmp_path):
    people = [BoxAnnotator(name, jitter=0.05, missed=0.05, spurious_per_minute=1.0) for name in "abc"]
    drawn = [annotate(truth(), one, seed=3).procedure for one in people]
    write_annotations(drawn[0], tmp_path / "a.xml", tool="cvat")
    write_annotations(drawn[1], tmp_path / "b.json", tool="coco")
    boxes_of(drawn[2], annotator="c").write_csv(tmp_path / "c.csv")
    boxes_of(truth()).write_parquet(tmp_path / "gold.parquet")
    words = ("boxes", f"a={tmp_path}/a.xml", f"b={tmp_path}/b.json", tmp_path / "c.csv", "--resamples", "50")
    shown = done(*words, "--gold", tmp_path / "gold.parquet", "--out", tmp_path / "out")
    assert {row["annotator"] for row in shown["gold"]} == {"a", "b", "c"}
    assert all(row["passed"] for row in shown["gold"])
    kept, votes = (pl.read_csv(tmp_path / "out" / name) for name in ("boxes.csv", "votes.csv"))
    assert kept.height == votes["kept"].sum() < votes.height
    assert abs(kept.height - boxes_of(truth()).height) < 0.1 * kept.height


def test_boxes_without_an_annotator_are_refused(tmp_path):
    boxes_of(truth()).write_csv(tmp_path / "c.csv")
    refused = run("boxes", tmp_path / "c.csv", "--out", tmp_path / "out")
    assert isinstance(refused.exception, Misuse)
    assert "nobody says who drew" in str(refused.exception)


def test_cross_checking_writes_flags_and_a_review_task_that_comes_back(tmp_path):
    write_annotations(student(), tmp_path / "s.xml", tool="cvat")
    detect(truth(), Detector(), seed=9).drop("real").write_csv(tmp_path / "seen.csv")
    words = ("cross-check", tmp_path / "s.xml", "--predictions", tmp_path / "seen.csv", "--review-tool", f"fps={25}")
    shown = done(*words, "--out", tmp_path / "out")
    flags = pl.read_csv(tmp_path / "out" / "flags.csv")
    assert {row["kind"]: row["flags"] for row in shown["flags"]} == dict(flags.group_by("kind").len().rows())
    (review,) = (tmp_path / "out" / "review").glob("*.xml")
    text = review.read_text()
    assert 'width="160" height="90"' in text
    review.write_text(text.replace(">open<", ">right<", 3))
    again = done("reviewed", review, "--fps", 25, "--out", tmp_path / "back")
    assert sum(row["right"] for row in again["flags"]) == 3
    assert pl.read_csv(tmp_path / "back" / "flags.csv").height == flags.height


def test_detections_as_coco_results_need_their_images(tmp_path):
    write_annotations(student(), tmp_path / "s.json", tool="coco")
    document = json.loads((tmp_path / "s.json").read_text())
    numbers = {row["name"]: row["id"] for row in document["categories"]}
    seen = detect(truth(), Detector(), seed=9).filter(pl.col("class_name").is_in(list(numbers)))
    results = [
        {"image_id": row["second"] + 1, "category_id": numbers[row["class_name"]], "score": row["score"],
         "bbox": [row[side] for side in ("x", "y", "width", "height")]}
        for row in seen.to_dicts()
    ]  # fmt: skip
    (tmp_path / "results.json").write_text(json.dumps(results))
    seen.drop("real").write_csv(tmp_path / "seen.csv")
    words = ("cross-check", tmp_path / "s.json", "--predictions")
    refused = run(*words, tmp_path / "results.json", "--out", tmp_path / "x")
    assert "--images" in str(refused.exception)
    by_results = done(*words, tmp_path / "results.json", "--images", tmp_path / "s.json", "--out", tmp_path / "one")
    assert by_results == done(*words, tmp_path / "seen.csv", "--out", tmp_path / "two")
    (tmp_path / "results.json").write_text("{}")
    broken = run(*words, tmp_path / "results.json", "--images", tmp_path / "s.json", "--out", tmp_path / "y")
    assert isinstance(broken.exception, FileUnreadable)


def test_instances_are_proposed_with_a_history_and_procedures(tmp_path):
    boxes_of(truth()).drop("instance").write_csv(tmp_path / "b.csv")
    words = ("instances", tmp_path / "b.csv", "--procedure-type", "Cholecystectomy", "--center", "A")
    shown = done(*words, "--out", tmp_path / "out", "--at", "2026-05-01")
    boxes, history = (pl.read_csv(tmp_path / "out" / name) for name in ("boxes.csv", "history.csv"))
    assert boxes.height == boxes_of(truth()).height
    assert sum(row["instances"] for row in shown["instances"]) == history.height
    assert set(history["who"]) == {"linker"}
    procedure = read_procedure(tmp_path / "out" / "procedures" / "0001.json")
    assert procedure_problems(procedure) == []
    assert (procedure.procedure_type, procedure.center) == ("Cholecystectomy", "A")
    assert sum(map(len, procedure.tracks)) == boxes.height


@pytest.mark.long
def test_instances_are_linked_by_appearance_where_films_are_given(tmp_path):
    pytest.importorskip("av")
    scene = draw_scene(5, 0, minutes=(3, 4), width_px=160, height_px=90)
    first = int(boxes_of(truth())["second"].min())
    write_clip(scene, plain=tmp_path / "film.mp4", end_s=first + 10)
    boxes_of(truth()).filter(pl.col("second") < first + 10).drop("instance").write_csv(tmp_path / "b.csv")
    film = f"{scene.video}={tmp_path}/film.mp4"
    done("instances", tmp_path / "b.csv", "--video", film, "--out", tmp_path / "out")
    assert json.loads((tmp_path / "out" / "manifest.json").read_text())["options"]["appearance"] is True
    named = tmp_path / "out" / "boxes.csv"
    done("instances", named, "--check", "--video", film, "--out", tmp_path / "checked")
    assert pl.read_csv(tmp_path / "checked" / "boxes.csv").equals(pl.read_csv(named))
    refused = run("instances", tmp_path / "b.csv", "--video", "film.mp4", "--out", tmp_path / "x")
    assert "no such file" in str(refused.exception)
    refused = run("instances", tmp_path / "b.csv", "--video", f"other={tmp_path}/film.mp4", "--out", tmp_path / "y")
    assert "no box is of the video 'other'" in str(refused.exception)


def test_known_instances_are_checked_against_the_events_and_kept(tmp_path):
    write_procedure(truth(), tmp_path / "p.json")
    shown = done("instances", tmp_path / "p.json", "--check", "--out", tmp_path / "out")
    assert not {row["kind"] for row in shown["flags"]} & {"before_insertion", "after_retrieval", "class_flip"}
    assert read_procedure(tmp_path / "out" / "procedures" / "0001.json") == truth()
    assert not (tmp_path / "out" / "links.csv").exists()


def test_two_people_confirm_an_item_and_entries_are_only_added(tmp_path):
    rows = ["item,action,who,at,field,before,after,note", "v/Clip 1,proposed,linker,2026-05-01,,,,"]
    path = tmp_path / "history.csv"
    path.write_text("\n".join(rows) + "\n")
    assert run("verify", path).exit_code == 1
    words = ("verify", path, "--entry", "item=v/Clip 1", "--json")
    assert run(*words, "--who", "anna", "--at", "2026-05-02").exit_code == 1
    confirmed = run(*words, "--who", "bert", "--at", "2026-05-03", "--entry", "note=seen twice")
    assert confirmed.exit_code == 0
    assert json.loads(confirmed.stdout)["items"] == [{"item": "v/Clip 1", "state": "confirmed", "entries": 3}]
    change = (
        "--entry",
        "action=changed",
        "--entry",
        "field=class_name",
        "--entry",
        "before=Clip",
        "--entry",
        "after=Needle",
    )
    assert run(*words, *change, "--who", "carl", "--at", "2026-05-04").exit_code == 1
    history = pl.read_csv(path)
    assert history["who"].to_list() == ["linker", "anna", "bert", "carl"]
    assert history["after"].to_list()[-1] == "Needle"
    assert isinstance(run(*words, "--entry", "action=liked", "--who", "d", "--at", "2026-06").exception, UnknownName)
    assert pl.read_csv(path).height == 4


def test_an_entry_by_hand_is_added_to_a_history_that_a_review_has_open(tmp_path):
    log = ReviewLog(tmp_path / "history.csv")
    log.propose(["q1", "q2"], "surgvalid")
    log.add("q1", Action.APPROVED, "anna", note="a, b")
    before = (tmp_path / "history.csv").read_text()
    assert run("verify", tmp_path / "history.csv", "--entry", "item=q2", "--who", "bert").exit_code == 1
    assert (tmp_path / "history.csv").read_text().startswith(before)
    log.add("q2", Action.APPROVED, "anna")
    assert log.history.states() == {"q1": "verified", "q2": "confirmed"}


def form(folder: Path, *rows: dict[str, str]) -> Path:
    base = dict.fromkeys(FORM_COLUMNS, "") | {
        "video": truth().video, "procedure_type": "Cholecystectomy", "answer_format": "number", "track": "procedure",
        "clinical_relevance": "no", "timestamp_start": "00:00:00", "timestamp_end": "00:02:00",
        "primary_capability": "3a", "author": "surgeon",
    }  # fmt: skip
    pl.DataFrame([base | row for row in rows]).write_csv(folder / "form.csv")
    return folder / "form.csv"


def test_expert_questions_are_checked_against_each_other_and_the_ledger(tmp_path):
    write_procedure(truth(), tmp_path / "p.json")
    pl.DataFrame({"question": ["a", "a"], "rater": ["x", "y"], "seconds": [10, 12]}).write_csv(tmp_path / "r.csv")
    asked = {"question": "How many clips are there? Answer with a number."}
    sound = form(tmp_path, asked | {"id": "e1", "answer": "2"})
    words = ("--annotations", tmp_path / "p.json", "--json")
    result = run("experts", sound, *words, "--ratings", tmp_path / "r.csv", "--out", tmp_path / "one")
    assert result.exit_code == 0, result.exception
    assert json.loads(result.stdout)["tolerance"][0]["tolerance_s"] == 2
    assert json.loads((tmp_path / "one" / "references.json").read_text())[0]["answer"] == "2"
    assert pl.read_csv(tmp_path / "one" / "history.csv")["who"].to_list() == ["surgeon"]
    ledger = {"template": "still-inside", "slots": '{"object": "Clip"}', "question": "Clips inside?"}
    plain = asked | {"template": "", "slots": ""}
    answers = [plain | {"id": case, "answer": answer} for case, answer in (("e1", "2"), ("e2", "3"))]
    bad = form(tmp_path, *answers, ledger | {"id": "e3", "answer": "99"})
    result = run("experts", bad, *words, "--out", tmp_path / "two")
    assert result.exit_code == 1
    codes = {row["code"] for row in json.loads(result.stdout)["findings"]}
    assert codes == {"contradiction", "ledger-disagrees"}


def test_only_questions_that_two_people_confirmed_are_kept(tmp_path):
    write_procedure(truth(), tmp_path / "p.json")
    asked = {"question": "How many clips? Answer with a number.", "answer": "2"}
    sheet = form(tmp_path, asked | {"id": "e1"}, asked | {"id": "e2", "timestamp_end": "00:01:00"})
    words = ("experts", sheet, "--annotations", tmp_path / "p.json", "--json", "--out")
    assert run(*words, tmp_path / "one", "--at", "2026-05-01").exit_code == 0
    history = tmp_path / "one" / "history.csv"
    for who, day in (("anna", 2), ("bert", 3)):
        run("verify", history, "--entry", "item=e2", "--who", who, "--at", f"2026-05-0{day}")
    assert run(*words, tmp_path / "two", "--history", history).exit_code == 0
    kept = pl.read_parquet(tmp_path / "two" / "questions.parquet")
    assert (kept["id"].to_list(), kept["generation"].to_list()) == (["e2"], ["manual"])
    assert tuple(kept.columns) == DATA_SET_COLUMNS
    loaded = load_questions(tmp_path / "two" / "questions.parquet", tmp_path / "two" / "references.json")
    assert loaded.references["e2"].answer == "2"
    assert pl.read_csv(tmp_path / "two" / "history.csv").height == 4


@pytest.mark.parametrize("verb", ["screen", "boxes", "cross-check", "instances"])
def test_nothing_is_overwritten_and_missing_files_are_named(verb, tmp_path):
    more = ("--predictions", tmp_path / "none.csv") if verb == "cross-check" else ()
    source = f"a={tmp_path}/none.csv" if verb == "boxes" else tmp_path / "none.csv"
    missing = run(verb, source, *more, "--out", tmp_path / "out")
    assert isinstance(missing.exception, FileUnreadable)
    assert "none.csv" in str(missing.exception)
    assert not (tmp_path / "out").exists()
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "manifest.json").write_text("{}")
    assert isinstance(run(verb, source, *more, "--out", tmp_path / "out").exception, WouldOverwrite)


def test_size_and_duration_travel_through_the_stages_and_proposed_instances_are_marked(tmp_path):
    write_procedure(student(), tmp_path / "student.json")
    done("boxes", f"s={tmp_path / 'student.json'}", "--out", tmp_path / "boxes")
    table = pl.read_csv(tmp_path / "boxes" / "boxes.csv")
    assert table.select("width_px", "height_px", "duration_s").unique().rows() == [(160, 90, truth().duration_s)]
    done("instances", tmp_path / "boxes" / "boxes.csv", "--out", tmp_path / "instances")
    [path] = (tmp_path / "instances" / "procedures").glob("*.json")
    proposed = read_procedure(path)
    assert (proposed.width_px, proposed.height_px, proposed.duration_s) == (160, 90, truth().duration_s)
    assert proposed.assumed == ()
    assert set(proposed.proposed) == {track.instance for track in proposed.tracks}
    bare = table.drop("width_px", "height_px", "duration_s")
    bare.write_csv(tmp_path / "bare.csv")
    done("instances", tmp_path / "bare.csv", "--out", tmp_path / "again")
    [path] = (tmp_path / "again" / "procedures").glob("*.json")
    assert read_procedure(path).assumed == ("duration_s", "width_px", "height_px")
