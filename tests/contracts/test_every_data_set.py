"""Every data set: reads its own layout, counts, never raises on bad files, and lists every problem."""

import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from data_set_files import BUILDERS
from surgeval.datasets import DATA_SETS, open_data_set
from surgeval.datasets._data_set import STRATA
from surgeval.errors import InputInvalid, UnknownName

NAMES = tuple(DATA_SETS)
TASKS = [(name, task) for name in NAMES for task in open_data_set(name).tasks]
GARBAGE = {
    "empty": b"",
    "binary": b"\xff\xfe\x00\x01" * 9,
    "prose": b"this is no annotation\n" * 2,
    "deep": b"[" * 100_000,
    "wrong object": b'{"images": 3, "annotations": [null], "phases": 5}',
    "list": b"[1, 2, 3]",
}


@pytest.fixture
def root(request, tmp_path):
    BUILDERS[request.param](tmp_path)
    return tmp_path


def test_every_data_set_has_a_fabricated_one_and_is_found_without_importing():
    assert set(BUILDERS) == set(NAMES)
    code = "import sys; from surgeval.datasets import DATA_SETS as n; names = list(n); "
    code += "assert names and not [x for x in names if 'surgeval.datasets.' + x in sys.modules]"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(Path(__file__).parents[2] / "src")})


@pytest.mark.parametrize("name", NAMES)
def test_facts_are_stated(name):
    data_set = open_data_set(name)
    assert data_set.name == name
    assert data_set.title
    assert data_set.citation
    assert data_set.licence or data_set.licence_note
    assert data_set.notes
    for task in data_set.tasks.values():
        assert task.summary
        assert task.clock


@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_a_faithful_folder_passes_its_check_and_small_counts_are_named(root, name):
    report = open_data_set(name).check(root)
    assert report.ok, str(report)
    assert not report.missing
    published = report.counts.drop_nulls("published")
    assert report.differing.height == len([f for f in report.findings if f.code == "count-differs"])
    assert published.height == 0 or report.differing.height > 0
    said = [f.message for f in report.findings if f.code == "published-disagreement"]
    assert said == list(open_data_set(name).disagreements)


@pytest.mark.parametrize(("root", "name", "task"), [(n, n, t) for n, t in TASKS], indirect=["root"])
def test_references_have_cases_videos_and_something_to_compare(root, name, task):
    references = open_data_set(name).references(root, task=task)
    table, cases = references.table, open_data_set(name).cases(root, task=task)
    assert table.height > 0
    assert table.columns[:3] == ["case", "video", "frame"]
    assert table.schema["case"] == table.schema["video"] == pl.String
    assert table["case"].null_count() == table["video"].null_count() == 0
    assert set(table.columns) - {"case", "video", "frame", *STRATA}
    assert cases["case"].n_unique() == cases.height == table["case"].n_unique()
    assert cases.group_by("case").agg(pl.col("video").n_unique())["video"].max() == 1


@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_no_video_is_in_two_parts_of_a_split(root, name):
    for table in (open_data_set(name).splits(), open_data_set(name).splits(root)):
        assert table.columns == ["scheme", "split", "video"]
        assert not table.select("scheme", "video").is_duplicated().any()


@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_a_check_says_which_official_splits_are_not_known(root, name):
    data_set = open_data_set(name)
    said = [f.message for f in data_set.check(root).findings if f.code == "split-unknown"]
    if set(data_set.splits(root)["scheme"]) <= set(data_set.unofficial) and not data_set.split_sizes:
        assert said == ["no official split is known here; state which videos you trained and tested on"]
    else:
        assert len(said) == len(data_set.split_sizes)
        assert all(repr(scheme) in text for scheme, text in zip(data_set.split_sizes, said, strict=True))


def test_official_splits_are_known_or_their_lack_is_said_for_every_data_set():
    known = {name: sorted(set(open_data_set(name).splits()["scheme"])) for name in NAMES}
    folds = [f"fold {number}" for number in range(1, 6)]
    assert {name: schemes for name, schemes in known.items() if schemes} == {
        "autolaparo": ["official"],
        "cholec80": ["camma 40/8/32"],
        "cholect45": [*folds, "surgbenchkit"],
        "cholect50": ["challenge", *folds],
        "dresden": ["official"],
        "endoscapes2023": ["official"],
        "heichole": ["surgbenchkit"],
    }
    sizes = {name: sorted(open_data_set(name).split_sizes) for name in NAMES if open_data_set(name).split_sizes}
    assert sizes == {
        "cholec80": ["32/8/40", "endonet"],
        "cholec80_cvs": ["fixed", "folds"],
        "cholect50": ["rendezvous"],
        "cholectrack20": ["official"],
        "heico": ["frames"],
    }


@pytest.mark.parametrize(("name", "task"), TASKS)
def test_an_empty_or_absent_folder_lists_what_is_missing(name, task, tmp_path):
    for root in (tmp_path, tmp_path / "nowhere"):
        report = open_data_set(name).check(root, tasks=[task])
        assert not report.ok
        assert report.missing
        with pytest.raises(InputInvalid):
            open_data_set(name).references(root, task=task)


@pytest.mark.parametrize("kind", GARBAGE)
@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_garbage_in_every_file_is_reported_and_never_raised(root, name, kind):
    spoilt = [path for path in root.rglob("*") if path.is_file()]
    for path in spoilt:
        path.write_bytes(GARBAGE[kind])
    report = open_data_set(name).check(root)
    assert str(report)
    assert not report.ok
    for task in open_data_set(name).tasks:
        with pytest.raises(InputInvalid):
            open_data_set(name).references(root, task=task)


@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_several_broken_files_are_all_named(root, name):
    for path in root.rglob("*"):
        if path.is_file():
            path.write_bytes(GARBAGE["binary"])
    places = {f.where for f in open_data_set(name).check(root).findings if f.severity.value == "error"}
    assert len(places) >= 2, places


@pytest.mark.parametrize(("root", "name"), [(name, name) for name in NAMES], indirect=["root"])
def test_pickles_are_counted_and_never_opened(root, name):
    bomb = b"cos\nsystem\n(S'touch " + str(root / "exploded").encode() + b"'\ntR."
    (root / "extra").mkdir()
    (root / "extra" / "1fps_0.pickle").write_bytes(bomb)
    report = open_data_set(name).check(root)
    assert "pickle" in {finding.code for finding in report.findings}
    assert not (root / "exploded").exists()


@pytest.mark.parametrize("name", NAMES)
def test_an_unknown_task_is_refused_by_name(name, tmp_path):
    with pytest.raises(UnknownName, match="nosuchtask"):
        open_data_set(name).references(tmp_path, task="nosuchtask")


def test_an_unknown_data_set_is_refused_with_the_nearest_name():
    with pytest.raises(UnknownName, match="did you mean 'cholec80'"):
        open_data_set("cholec8O")
