import json
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from surgvalid.errors import FileUnreadable
from surgvalid.schema.procedures.foreign_objects import (
    CLASS_NAMES,
    FOREIGN_OBJECTS,
    definitions_text,
    parse_definitions,
    read_definitions,
)


def names(source: str) -> list[str]:
    return [kind.name for kind in parse_definitions(source)]


def test_there_are_ten_classes_of_which_three_may_stay() -> None:
    assert len(CLASS_NAMES) == 10
    assert [kind.name for kind in FOREIGN_OBJECTS if kind.may_stay] == ["Clip", "Mesh", "Absorbable Hemostatic Agent"]


def test_our_own_definitions_are_read_back() -> None:
    assert parse_definitions(definitions_text()) == FOREIGN_OBJECTS


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_plain_text_and_its_json_string_give_the_same_classes(newline: str) -> None:
    text = newline.join(["Title", "=====", "", "Tack", "----", "Spiral", "fastener.", "", "Clip", "-----", "Small."])
    assert names(text) == names(json.dumps(text)) == ["Tack", "Clip"]
    tack, clip = parse_definitions(text)
    assert tack.description == "Spiral fastener."
    assert clip.may_stay
    assert not tack.may_stay


@pytest.mark.parametrize(
    "document",
    [{"Tack": "x", "Clip": "y"}, ["Tack", "Clip"], [{"name": "Tack", "description": "x"}, {"name": "Clip"}, 7]],
)
def test_json_objects_and_lists_are_read(document: object) -> None:
    assert names(json.dumps(document)) == ["Tack", "Clip"]


@pytest.mark.parametrize(
    "source", ["", "no headings here", "[]", "{}", "5", "null", '{"": "x"}', "[" * 50_000, "1" * 5000]
)
def test_a_source_without_classes_is_refused(source: str) -> None:
    with pytest.raises(FileUnreadable, match="no class found"):
        parse_definitions(source)


def test_files_are_read_with_a_mark_and_refused_by_name(tmp_path: Path) -> None:
    path = tmp_path / "FO_definitions.json"
    path.write_bytes(b"\xef\xbb\xbf" + json.dumps(definitions_text()).encode())
    assert read_definitions(path) == FOREIGN_OBJECTS
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(FileUnreadable, match=r"FO_definitions.json: not UTF-8"):
        read_definitions(path)
    path.write_text("nothing")
    with pytest.raises(FileUnreadable, match=r"FO_definitions.json: no class found"):
        read_definitions(path)
    for absent in (tmp_path / "absent.txt", tmp_path):
        with pytest.raises(FileUnreadable, match="cannot be read"):
            read_definitions(absent)


@given(st.text(max_size=200))
def test_any_text_gives_classes_or_a_clear_refusal(source: str) -> None:
    with suppress(FileUnreadable):
        assert all(kind.name.strip() for kind in parse_definitions(source))
