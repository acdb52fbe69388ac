"""Tables that the Hugging Face `datasets` library saved to disk: Arrow streams beside `dataset_info.json`.

Columns of class labels hold numbers; their names are in the information file and are put in their place.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import polars as pl

from surgeval.errors import FileUnreadable
from surgeval.schema.tabular import first_line
from surgeval.scoring.predictions.documents import read_json

_INFORMATION, _STATE, _PARTS = "dataset_info.json", "state.json", "dataset_dict.json"


def is_saved_data_set(folder: Path) -> bool:
    """Whether a folder is what `save_to_disk` writes."""
    return (folder / _PARTS).is_file() or ((folder / _STATE).is_file() and any(folder.glob("*.arrow")))


def read_saved_data_set(folder: Path) -> pl.DataFrame:
    """The rows of a saved data set, with class labels by name.

    Raises:
        FileUnreadable: Several parts, of which one must be named, or no Arrow file.
    """
    if (folder / _PARTS).is_file():
        parts = sorted(path.name for path in folder.iterdir() if (path / _STATE).is_file())
        if len(parts) != 1:
            raise FileUnreadable(str(folder), [f"holds the parts {', '.join(parts)}; name the folder of one of them"])
        return read_saved_data_set(folder / parts[0])
    try:
        tables = [pl.read_ipc_stream(path) for path in sorted(folder.glob("*.arrow"))]
        frame = pl.concat(tables, how="vertical_relaxed")
    except (pl.exceptions.PolarsError, OSError) as error:
        raise FileUnreadable(str(folder), [f"no saved data set ({first_line(error)})"]) from None
    information = folder / _INFORMATION
    features = read_json(information).get("features", {}) if information.is_file() else {}
    return frame.with_columns(
        _named(name, features[name]["names"]) for name in frame.columns if _is_label(features, name)
    )


def _is_label(features: Any, name: str) -> bool:
    feature = features.get(name) if isinstance(features, dict) else None
    return isinstance(feature, dict) and feature.get("_type") == "ClassLabel" and isinstance(feature.get("names"), list)


def _named(column: str, names: list[str]) -> pl.Expr:
    return pl.col(column).replace_strict(dict(enumerate(names)), default=None, return_dtype=pl.String).alias(column)
