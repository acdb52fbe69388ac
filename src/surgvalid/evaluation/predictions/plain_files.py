"""JSON, NPZ and NPY files and saved Arrow data sets: nothing is unpickled, nothing larger than stated is made.

Tables that the Hugging Face `datasets` library saved to disk: Arrow streams beside `dataset_info.json`.

Columns of class labels hold numbers; their names are in the information file and are put in their place.
"""

from __future__ import annotations

import json
import tokenize
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
from numpy.lib import format as npy

from surgvalid.errors import FileUnreadable
from surgvalid.schema.tables.table_files import read_frame
from surgvalid.schema.tables.tabular import first_line


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


_DECIMAL = r"^\s*-?\d+(?:[.,]\d+)?(?:[eE][+-]?\d+)?\s*$"


def _header_of(path: Path) -> str:
    with path.open(encoding="utf-8-sig", errors="replace") as handle:
        return handle.readline()


def read_table(path: Path, texts: Iterable[str] = ()) -> pl.DataFrame:
    """The rows of a table; of a CSV whose columns semicolons separate, with decimal commas as numbers.

    Raises:
        FileUnreadable: As for `read_frame`.
    """
    frame, kept = read_frame(path, texts, semicolons=True), set(texts)
    if path.suffix.lower() != ".csv" or ";" not in _header_of(path):
        return frame
    columns = [name for name, kind in frame.schema.items() if kind == pl.String and name not in kept]
    numbers = [name for name in columns if frame[name].drop_nulls().str.contains(_DECIMAL).all()]
    return frame.with_columns(pl.col(numbers).str.strip_chars().str.replace(",", ".", literal=True).cast(pl.Float64))


LARGEST_BYTES = 16_000_000_000
"""More than this in one file is no set of predictions."""
_HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def read_npz(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an NPZ file; nothing in it is ever unpickled.

    Raises:
        FileUnreadable: Missing, no NPZ file, holding pickled objects, or arrays that claim to be larger than they are.
    """
    if not path.is_file():
        raise FileUnreadable(str(path), ["no such file"])
    try:
        _check_sizes(path)
        with path.open("rb") as handle, np.load(handle, allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}
    except (
        *(ValueError, TypeError, OSError, EOFError, KeyError, RuntimeError, MemoryError, SyntaxError),
        *(zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    ) as error:
        raise FileUnreadable(str(path), [f"no plain NPZ file: {error}"]) from None


def read_npy(path: Path) -> np.ndarray:
    """The array of an NPY file; one of Python objects is a pickle and stays shut.

    Raises:
        FileUnreadable: Missing, no plain array, or larger than any prediction.
    """
    try:
        if path.stat().st_size > LARGEST_BYTES:
            raise ValueError(f"more than {LARGEST_BYTES / 1e9:.0f} GB")
        with path.open("rb") as handle:
            array: np.ndarray = npy.read_array(handle, allow_pickle=False)
        return array
    except (OSError, ValueError, EOFError, MemoryError, SyntaxError, tokenize.TokenError) as error:
        raise FileUnreadable(str(path), [f"no plain array ({error})"]) from None


def _check_sizes(path: Path) -> None:
    """Look at the heads only, before any array is made.

    Raises:
        ValueError: A member that is no plain array, or claims more than the file holds.
    """
    with zipfile.ZipFile(path) as archive:
        members = archive.infolist()
        if sum(member.file_size for member in members) > LARGEST_BYTES:
            raise ValueError(f"more than {LARGEST_BYTES / 1e9:.0f} GB")
        for member in members:
            with archive.open(member) as handle:
                version = npy.read_magic(handle)
                if version not in _HEADERS:
                    raise ValueError(f"{member.filename}: unknown version of an array")
                shape, _, kind = _HEADERS[version](handle)
            if kind.hasobject:
                raise ValueError(f"{member.filename} holds pickled objects, which are never opened")
            if np.prod(shape, dtype=object) * kind.itemsize > member.file_size:
                raise ValueError(f"{member.filename} claims the shape {shape}, which the file does not hold")


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
