"""Flags go to CVAT with their evidence and come back with the reviewers' reviews; nothing is lost on the way."""

import json
from pathlib import Path

import polars as pl
import pytest
from examples.erring_annotators import BoxAnnotator, Detector, annotate, detect
from hypothesis import given
from hypothesis import strategies as st

from small_truth import small_truth
from surgvalid.datasets import About, read_annotations
from surgvalid.datasets.tools._cvat_shapes import shapes_of
from surgvalid.datasets.tools._xml import elements
from surgvalid.datasets.tools.cvat_review import REVIEWS, read_review, write_review
from surgvalid.errors import FileUnreadable, Misuse, ProcedureInvalid, TableInvalid
from surgvalid.questions.stages.box_tables import boxes_of
from surgvalid.questions.stages.cross_check import cross_check


@pytest.fixture(scope="module")
def flags() -> pl.DataFrame:
    found = []
    student = BoxAnnotator("s", missed=0.05, lag=0.04, confusion=0.2, spurious_per_minute=1.0)
    for number in range(2):
        truth = small_truth(21, number, (4, 5))
        boxes = boxes_of(annotate(truth, student, seed=4).procedure)
        found.append(cross_check(boxes, detect(truth, Detector(), seed=9)))
    return pl.concat(found)


def in_order(table: pl.DataFrame) -> list[dict[str, object]]:
    columns = ("video", "second", "kind", "evidence", "x")
    rounded = table.with_columns(pl.col("x", "y", "width", "height").round(6))
    return rounded.sort(columns).to_dicts()


@pytest.mark.parametrize("fps", [1.0, 25.0, 29.97])
def test_every_flag_comes_back_with_its_evidence_and_score(flags, fps, tmp_path):
    files = write_review(flags, tmp_path, fps=fps)
    assert [path.name for path in files] == [
        "001_sim21_0000.xml", "002_sim21_0001.xml", "labels.json", "review.json",
    ]  # fmt: skip
    back = pl.concat([read_review(path, fps=fps) for path in files[:2]])
    assert in_order(back.drop("review")) == in_order(flags.select(back.drop("review").columns))
    assert set(back["review"]) == {"open"}


def test_our_reader_of_annotations_reads_the_task_too(flags, tmp_path):
    path = write_review(flags, tmp_path, sizes={"sim21_0000": (480, 270)})[0]
    own = flags.filter(pl.col("video") == "sim21_0000")
    shapes = [shape for image in elements(path, ("image",)) for shape in shapes_of(image, [])]
    assert len(shapes) == own.height
    assert sorted(s.attributes["flag"] for s in shapes) == sorted(own["kind"])
    procedure = read_annotations(path, about=About(procedure_type="p", center="c")).procedures[0]
    assert (procedure.video, procedure.width_px, procedure.height_px) == ("sim21_0000", 480, 270)
    assert sum(len(track) for track in procedure.tracks) == own.height


def test_the_labels_are_what_the_label_editor_takes(flags, tmp_path):
    write_review(flags, tmp_path)
    labels = json.loads((tmp_path / "labels.json").read_text())
    named = {*flags["class_name"].drop_nulls(), *flags["predicted_class"].drop_nulls()}
    assert {label["name"] for label in labels} == named
    for label in labels:
        assert label["type"] == "rectangle"
        review = next(a for a in label["attributes"] if a["name"] == "review")
        assert (review["input_type"], review["values"], review["default_value"]) == ("radio", list(REVIEWS), "open")
        told = {attribute["name"] for attribute in label["attributes"]}
        image = next(elements(tmp_path / "001_sim21_0000.xml", ("image",)))
        shape = next(shapes_of(image, []))
        assert {*shape.attributes, "instance"} == told


def test_the_description_names_the_frames_to_open(flags, tmp_path):
    write_review(flags, tmp_path, fps=25)
    described = json.loads((tmp_path / "review.json").read_text())
    for job in described["jobs"]:
        own = flags.filter(pl.col("video") == job["video"])
        assert job["frames"] == sorted({25 * second for second in own["second"]})
        assert job["flags"] == dict(own.group_by("kind").len().rows())
        assert (tmp_path / job["annotations"]).is_file()


def test_reviews_of_reviewers_come_back(flags, tmp_path):
    path = write_review(flags.head(3), tmp_path)[0]
    text = path.read_text()
    for review in ("right", "wrong"):
        text = text.replace('<attribute name="review">open<', f'<attribute name="review">{review}<', 1)
    path.write_text(text)
    back = read_review(path)
    assert sorted(back["review"]) == ["open", "right", "wrong"]
    again = write_review(back, tmp_path / "again")[0]
    assert read_review(again).equals(back)


def flag(**more: object) -> dict[str, object]:
    base = {"kind": "missing", "video": "v", "second": 3, "predicted_class": "Clip", "evidence": "seen"}
    return base | {"x": 1.0, "y": 2.0, "width": 3.0, "height": 4.0} | more


@given(text=st.text(st.characters(exclude_categories=["Cs", "Cc", "Cn"]), max_size=20), score=st.floats(0, 1))
def test_any_text_and_score_survive(text, score, tmp_path_factory):
    folder = tmp_path_factory.mktemp("review")
    back = read_review(write_review([flag(evidence=text, score=score, class_name="<&>")], folder)[0])
    assert back["evidence"].to_list() == [text or None]
    assert back["score"].to_list() == [score]
    assert back["class_name"].to_list() == ["<&>"]


def test_videos_of_any_name_have_a_file_of_their_own(tmp_path):
    names = ["../../etc", "a/b", "a b", "a:b", "ä" * 300]
    files = write_review([flag(video=name) for name in names], tmp_path)
    assert all(path.parent == tmp_path for path in files)
    assert {read_review(path)["video"][0] for path in files[: len(names)]} == set(names)


def test_flags_without_a_place_or_class_are_refused_all_at_once(tmp_path):
    rows = [flag(predicted_class=None), flag(second=-1), flag(review="perhaps"), flag(x=None)]
    with pytest.raises(TableInvalid) as refused:
        write_review(rows, tmp_path)
    for part in ("name no class", "no place", "'perhaps'", "'x' is empty"):
        assert any(part in problem for problem in refused.value.problems), part
    with pytest.raises(TableInvalid, match="'kind' is missing"):
        write_review([{"video": "v"}], tmp_path)
    with pytest.raises(Misuse, match="fps"):
        write_review([flag()], tmp_path, fps=0.5)
    with pytest.raises(ProcedureInvalid, match="XML cannot"):
        write_review([flag(evidence="\x00")], tmp_path)


def test_no_flags_are_a_task_without_files(tmp_path):
    names = [path.name for path in write_review(pl.DataFrame([flag()]).clear(), tmp_path)]
    assert names == ["labels.json", "review.json"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("open<", "maybe<"), "unknown review 'maybe'"),
        (('<attribute name="until_s">3<', '<attribute name="until_s">x<'), "until_s 'x' is no number"),
        (('xtl="1.0"', 'xtl="a"'), "is no number"),
    ],
)
def test_what_a_review_cannot_mean_is_told(change, message, tmp_path: Path):
    path = write_review([flag()], tmp_path)[0]
    path.write_text(path.read_text().replace(*change))
    with pytest.raises(ProcedureInvalid, match=message):
        read_review(path)


def test_other_files_are_no_review(tmp_path: Path):
    (tmp_path / "a.xml").write_text("<annotations/>")
    with pytest.raises(FileUnreadable, match="holds no"):
        read_review(tmp_path / "a.xml")
