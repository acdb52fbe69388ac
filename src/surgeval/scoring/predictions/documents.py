"""JSON and JSON Lines files of predictions and references."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable


def read_json(path: Path) -> Any:
    """What a JSON file holds; the list of the records of a JSON Lines file.

    Raises:
        FileUnreadable: Missing, or no JSON.
    """
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        text = path.read_text(encoding="utf-8-sig")
        if path.suffix.lower() == ".jsonl":
            return [json.loads(line) for line in text.split("\n") if line.strip()]
        return json.loads(text)
    except (OSError, UnicodeDecodeError, json.JSONDecodeError, RecursionError) as error:
        raise FileUnreadable(str(path), [f"no JSON: {error}"]) from None
