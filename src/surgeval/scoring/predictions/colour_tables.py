"""Which number a colour of a mask stands for, from the files that tools write beside their masks.

labelmap.txt (CVAT, Datumaro)   name:r,g,b:parts:actions      the place in the list is the number, from 0
labels.json (EndoVis 2018)      [{"name", "color", "classid"}]
table (CSV)                     name,r,g,b or number,r,g,b
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable
from surgeval.schema.documents import read_text
from surgeval.scoring.predictions.documents import read_json
from surgeval.scoring.predictions.png import Colours as Colours

_MOST = 255


def read_colours(path: Path) -> Colours:
    """The number of every colour in a file.

    Raises:
        FileUnreadable: Missing, of no known form, or with a colour twice.
    """
    entries = _of_records(read_json(path)) if path.suffix.lower() == ".json" else _of_lines(read_text(path))
    colours: dict[tuple[int, int, int], int] = {}
    problems = []
    for number, colour in entries:
        key = _colour(colour)
        if key is None or number is None:
            problems.append(f"no colour of three numbers from 0 to {_MOST}: {str(colour)[:40]!r}")
        elif colours.setdefault(key, number) != number:
            problems.append(f"the colour {key} stands for {colours[key]} and for {number}")
    if problems or not colours:
        raise FileUnreadable(str(path), problems or ["no colours; expected name:r,g,b:: lines, or a JSON list"])
    return colours


def _of_records(content: Any) -> list[tuple[int | None, Any]]:
    records = content if isinstance(content, list) else []
    return [
        (int(one["classid"]) if isinstance(one.get("classid"), int) else place, one.get("color"))
        for place, one in enumerate(records)
        if isinstance(one, Mapping)
    ]


def _of_lines(text: str) -> list[tuple[int | None, Any]]:
    lines = [line.strip() for line in text.splitlines() if line.strip() and not line.startswith("#")]
    if all(":" in line for line in lines):
        return [(place, line.split(":")[1].split(",")) for place, line in enumerate(lines)]
    cells = [line.split(",") for line in lines]
    body = cells[1:] if cells and not cells[0][-1].strip().isdecimal() else cells
    return [(int(row[0]) if row[0].strip().isdecimal() else place, row[1:]) for place, row in enumerate(body)]


def _colour(value: Any) -> tuple[int, int, int] | None:
    try:
        red, green, blue = (int(channel) for channel in value)
    except (TypeError, ValueError):
        return None
    return (red, green, blue) if all(0 <= channel <= _MOST for channel in (red, green, blue)) else None
