"""A procedure survives its file, and a broken file says everything that is wrong."""

import contextlib
import json
from dataclasses import replace

import pytest

from procedures import random_procedure, tiny_procedure
from surgvalid.errors import FileUnreadable, ProcedureInvalid, SurgvalidError
from surgvalid.schema.procedures.procedure_files import (
    procedure_from_dict,
    procedure_paths,
    procedure_to_dict,
    read_procedure,
    write_procedure,
)


def test_a_file_gives_back_what_was_written(tmp_path):
    for seed in range(20):
        procedure = random_procedure(seed)
        write_procedure(procedure, tmp_path / "p.json")
        assert read_procedure(tmp_path / "p.json") == procedure


def test_patient_and_facts_survive(tmp_path):
    procedure = replace(tiny_procedure(), patient="p7", facts={"smoke": "heavy"})
    write_procedure(procedure, tmp_path / "p.json")
    again = read_procedure(tmp_path / "p.json")
    assert (again.patient, again.facts) == ("p7", {"smoke": "heavy"})


def test_seconds_are_stored_as_runs():
    document = procedure_to_dict(tiny_procedure())
    assert document["tracks"][0]["seconds"] == [[5, 12], [25, 6]]
    assert document["tracks"][0]["visibility"] == [["visible", 10], ["occluded", 1], ["outside", 1], ["visible", 6]]


def test_every_problem_is_listed():
    document = procedure_to_dict(tiny_procedure())
    document["center"] = 7
    document["events"][0][1] = "insertd"
    document["tracks"][0]["visibility"][0][0] = "hidden"
    document["tracks"][1]["boxes"][0] = "wide"
    document["phases"].append(["x", 1])
    with pytest.raises(ProcedureInvalid) as caught:
        procedure_from_dict(document)
    text = str(caught.value)
    assert len(caught.value.problems) == 5
    for part in ("'center'", "did you mean 'inserted'?", "'hidden'", "no numbers", "list of 3"):
        assert part in text


@pytest.mark.parametrize(
    "text",
    ["", "[]", "{}", "null", '{"surgvalid_procedure": 2}', "[" * 100_000, '{"surgvalid_procedure": 1, "tracks": 3}',
     '{"surgvalid_procedure": 1, "tracks": [{"instance": "a", "class": "b", "seconds": [[0, 999999999999]], '
     '"boxes": [], "visibility": []}]}', "9" * 5000],
)  # fmt: skip
def test_hostile_files_end_in_a_house_error(tmp_path, text):
    (tmp_path / "p.json").write_text(text)
    with pytest.raises((FileUnreadable, ProcedureInvalid), match=r"p\.json"):
        read_procedure(tmp_path / "p.json")


def test_a_missing_or_wrongly_encoded_file_is_named(tmp_path):
    with pytest.raises(FileUnreadable, match="none"):
        read_procedure(tmp_path / "none.json")
    (tmp_path / "p.json").write_bytes(b"\xff\xfe{")
    with pytest.raises(FileUnreadable, match="UTF-8"):
        read_procedure(tmp_path / "p.json")


def test_a_folder_stands_for_its_procedures_but_not_its_manifest(tmp_path):
    for name in ("b.json", "a.json", "manifest.json", "notes.txt"):
        (tmp_path / name).write_text("{}")
    assert [path.name for path in procedure_paths(tmp_path)] == ["a.json", "b.json"]
    (tmp_path / "empty").mkdir()
    for missing in ("empty", "nowhere"):
        with pytest.raises(FileUnreadable, match=missing):
            procedure_paths([tmp_path, tmp_path / missing])


_LEAVES = (None, True, 0, 1, -1, 1 << 70, 0.5, float("nan"), float("inf"), "", "x", [], [1], [[]], {}, {"x": []})


def _places(node):
    """Every place in a document: its container and its key there."""
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield node, key
        if isinstance(node[key], dict | list):
            yield from _places(node[key])


@pytest.mark.parametrize("leaf", _LEAVES, ids=repr)
def test_a_document_with_anything_anywhere_is_read_or_refused_but_never_crashes(leaf):
    document = json.loads(json.dumps(procedure_to_dict(tiny_procedure())))
    places = list(_places(document))
    assert len(places) > 50
    for parent, key in places:
        kept, parent[key] = parent[key], leaf
        with contextlib.suppress(SurgvalidError):
            procedure_from_dict(document)
        parent[key] = kept


@pytest.mark.parametrize(("key", "value"), [("changes", 1), ("changes", "abc"), ("changes", None), ("attributes", [])])
def test_parts_of_a_track_of_another_kind_are_named(key, value):
    document = procedure_to_dict(tiny_procedure())
    document["tracks"][0][key] = value
    with pytest.raises(ProcedureInvalid, match=f"tracks 1: '{key}' must be"):
        procedure_from_dict(document)


def test_a_folder_of_simulations_is_told_where_its_procedures_are(tmp_path):
    (tmp_path / "procedures").mkdir()
    with pytest.raises(FileUnreadable, match=r"no procedure .* did you mean .*procedures\?"):
        procedure_paths(tmp_path)
