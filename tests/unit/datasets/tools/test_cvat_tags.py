from pathlib import Path

import pytest

from surgvalid.datasets.tools.cvat import read_image_tags
from surgvalid.errors import FileUnreadable

XML = """<?xml version="1.0" encoding="utf-8"?>
<annotations><version>1.1</version>
  <image id="0" name="video1/frame_001.png" width="10" height="10">
    <tag label="smoke" source="manual"></tag><tag label="dirty lens"/>
    <polygon label="instrument" points="0,0;1,1;1,0"><attribute name="blood">true</attribute>
      <attribute name="kind">grasper</attribute></polygon>
    <box label="instrument" xtl="0" ytl="0" xbr="1" ybr="1"><attribute name="blood">false</attribute></box>
  </image>
  <image id="1" name="frame_002.png" width="10" height="10"></image>
</annotations>"""


@pytest.fixture
def path(tmp_path: Path) -> Path:
    (tmp_path / "tags.xml").write_text(XML)
    return tmp_path / "tags.xml"


def test_tags_become_columns_of_zeros_and_ones(path: Path) -> None:
    table = read_image_tags(path)
    assert table.to_dicts() == [
        {"case": "frame_001", "dirty lens": 1, "smoke": 1},
        {"case": "frame_002", "dirty lens": 0, "smoke": 0},
    ]
    assert read_image_tags(path, tags=["blood"])["blood"].to_list() == [0, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("<annotations>", "not XML"),
        ("<annotations></annotations>", "holds no <image>"),
        ('<!DOCTYPE a [<!ENTITY b "c">]><annotations>&b;</annotations>', "document type"),
        ("", "not XML"),
    ],
)
def test_hostile_or_foreign_files_are_refused(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "a.xml").write_text(text)
    with pytest.raises(FileUnreadable, match=message):
        read_image_tags(tmp_path / "a.xml")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileUnreadable, match="no such file"):
        read_image_tags(tmp_path / "a.xml")
