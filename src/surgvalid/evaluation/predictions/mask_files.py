"""Label maps by name: a folder of PNG, NPY or NIfTI files, an NPZ file, or a JSON list of masks.

A name is `video/frame` without ending: the path within the folder, the key in the NPZ file, or `case` (or `video` and
`frame`) of the JSON records (run-length encodings or polygons, which also state `height` and `width`). Files are read
when asked for, so a large folder is never held in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path, PurePosixPath
from typing import Any

import numpy as np

from surgvalid.errors import FileUnreadable, InputInvalid, Misuse
from surgvalid.evaluation.predictions.label_maps import (
    LARGEST_PIXELS,
    Colours,
    is_nifti,
    read_label_map,
    read_nifti,
)
from surgvalid.evaluation.predictions.plain_files import read_json, read_npy, read_npz
from surgvalid.metrics.detection.masks import Mask, mask_of_segmentation
from surgvalid.schema.left_behind import put_there

AXES = ("xy", "rows")
"""The first axis of a NIfTI file runs along x, or along the rows of the image."""


class LabelMaps(Mapping[str, np.ndarray]):
    """Label maps by name, made of their sources when asked for and not kept."""

    def __init__(self, sources: Mapping[str, Any], read: Callable[[Any], np.ndarray]) -> None:
        self._sources, self._read = sources, read

    def __getitem__(self, name: str) -> np.ndarray:
        return self._read(self._sources[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


class PngFiles(LabelMaps):
    """PNG files by name."""

    def __init__(self, paths: Mapping[str, Path], colours: Colours | None = None) -> None:
        super().__init__(paths, partial(read_label_map, colours=colours))

    def in_colours(self, colours: Colours | None) -> PngFiles:
        """The same files, with colours read by a table."""
        return PngFiles(self._sources, colours) if colours else self


def png_folder(folder: Path) -> PngFiles:
    """The PNG files below a folder, named by their path in it."""
    return PngFiles(_named(folder, "*.png"))


def _named(folder: Path, pattern: str) -> dict[str, Path]:
    """The files of a pattern below a folder by their path in it, without their ending."""
    return {_stem(path.relative_to(folder).as_posix()): path for path in put_there(folder.rglob(pattern), folder)}


def named(maps: Mapping[str, np.ndarray], names: Mapping[str, str]) -> LabelMaps:
    """Label maps under other names."""
    return LabelMaps(names, maps.__getitem__)


def under_names_of(
    references: Mapping[str, np.ndarray], predictions: Mapping[str, np.ndarray], also: Mapping[str, str]
) -> tuple[Mapping[str, np.ndarray], str]:
    """Predictions under the references' names, where each fits one alone, and how they were named.

    A prediction fits a reference whose path ends in its own, or that the data set calls so, with zeros before the
    number or without; `also` is that name of every reference.
    """
    if set(references) == set(predictions):
        return predictions, ""
    tails: dict[str, set[str]] = {}
    for name in references:
        parts = name.split("/")
        for place in range(len(parts)):
            tails.setdefault("/".join(parts[place:]), set()).add(name)
        if name in also:
            tails.setdefault(also[name], set()).add(name)
    fitting = {theirs: next(filter(None, map(tails.get, _called(theirs))), set()) for theirs in predictions}
    matched = {theirs: next(iter(names)) for theirs, names in fitting.items() if len(names) == 1}
    if len(matched) < len(predictions) or len(set(matched.values())) < len(matched):
        return predictions, ""
    theirs, ours = next(iter(matched.items()))
    sentence = f"Predicted masks were matched by the end of their names, as {theirs!r} to {ours!r}."
    return named(predictions, {ours: theirs for theirs, ours in matched.items()}), sentence


def _called(name: str) -> Iterator[str]:
    """What a predicted mask may be called: as it is, without zeros, by its folder, or less its last word."""
    yield from (name, _without_zeros(name))
    folder, _, last = name.rpartition("/")
    word = last.rpartition("_")[0]
    if folder and word == folder.rpartition("/")[2]:  # KEY/KEY_seg, as MONAI's SaveImage writes
        yield folder
    if word and not last.rpartition("_")[2].isdecimal():
        yield f"{folder}/{word}" if folder else word


def _without_zeros(name: str) -> str:
    folders, slash, number = name.rpartition("/")
    return f"{folders}{slash}{int(number)}" if number.isascii() and number.isdecimal() else name


def recoded_maps(maps: Mapping[str, np.ndarray], codes: Mapping[int, int]) -> LabelMaps:
    """Label maps with some labels exchanged for others when they are read."""

    def exchanged(name: str) -> np.ndarray:
        labels = np.asarray(maps[name])
        changed = labels.astype(np.int64) if labels.dtype == bool else labels.copy()
        for old, new in codes.items():
            changed[labels == old] = new
        return changed

    return LabelMaps({name: name for name in maps}, exchanged)


class Chosen(Sequence[np.ndarray]):
    """Some label maps in a given order, read on demand."""

    def __init__(self, maps: Mapping[str, np.ndarray], names: Sequence[str]) -> None:
        self._maps, self._names = maps, list(names)

    def __getitem__(self, place: Any) -> Any:
        return self._maps[self._names[place]]

    def __len__(self) -> int:
        return len(self._names)


def read_label_maps(
    source: Any,
    where: str,
    colours: Colours | None = None,
    *,
    like: Mapping[str, np.ndarray] | None = None,
    nifti_axes: str | None = None,
) -> Mapping[str, np.ndarray]:
    """The label maps of a folder, an NPZ or JSON file, or a mapping.

    Args:
        source: Where they are.
        where: Which side they are of, for errors.
        colours: What the colours of PNG files stand for.
        like: The references, whose shapes say which axis of a NIfTI file runs across.
        nifti_axes: The same, said by the caller.

    Raises:
        FileUnreadable: Nothing there, or of an unknown kind.
        InputInvalid: Records that are no masks; all are named.
    """
    if isinstance(source, PngFiles):
        return source.in_colours(colours)
    if isinstance(source, Mapping):
        return {str(name): np.asarray(array) for name, array in source.items()}
    path = Path(source)
    maps: Mapping[str, np.ndarray]
    if path.is_dir():
        maps = _folder(path, colours, like, nifti_axes)
    elif path.suffix.lower() == ".npz":
        maps = read_npz(path)
    elif path.suffix.lower() in (".json", ".jsonl"):
        maps = _maps_of_records(read_json(path), path.name)
    else:
        raise FileUnreadable(str(path), ["expected a folder of PNG, NPY or NIfTI files, an .npz or a .json file"])
    if not maps:
        raise InputInvalid(where, [f"{path} holds no masks"])
    return maps


def _folder(
    folder: Path, colours: Colours | None, like: Mapping[str, np.ndarray] | None, nifti_axes: str | None
) -> Mapping[str, np.ndarray]:
    """The masks of a folder, which are files of one kind."""
    png = png_folder(folder)
    npy = _named(folder, "*.npy")
    nifti = {name: path for name, path in _named(folder, "*.nii*").items() if is_nifti(path)}
    kinds = [name for name, files in (("PNG", png), ("NPY", npy), ("NIfTI", nifti)) if files]
    if len(kinds) > 1:
        raise FileUnreadable(str(folder), [f"masks of several kinds ({', '.join(kinds)}); keep one kind in the folder"])
    if nifti:
        return LabelMaps({name: name for name in nifti}, lambda name: _turned(name, nifti[name], like, nifti_axes))
    return LabelMaps(npy, lambda path: np.squeeze(read_npy(path))) if npy else png.in_colours(colours)


def _turned(name: str, path: Path, like: Mapping[str, np.ndarray] | None, axes: str | None) -> np.ndarray:
    """A NIfTI file, turned as the reference of its name is."""
    array = read_nifti(path)
    if axes is None:
        same = next((one for one in _called(name) if like is not None and one in like), None)
        wanted = None if like is None or same is None else np.asarray(like[same]).shape
        if array.shape[0] == array.shape[1] or wanted is None:
            raise Misuse(
                f"{path.name}: {array.shape[0]} by {array.shape[1]} pixels do not say which axis runs across; say "
                f"--format nifti_axes={' or '.join(AXES)}"
            )
        return array if wanted == array.shape else array.T
    return array.T if axes == "xy" else array


def _stem(name: str) -> str:
    return PurePosixPath(name.removesuffix(".gz")).with_suffix("").as_posix()


def _maps_of_records(records: Any, where: str) -> dict[str, np.ndarray]:
    if not isinstance(records, list):
        raise InputInvalid(where, ["expected a list of records with 'case' and 'segmentation'"])
    maps: dict[str, np.ndarray] = {}
    problems: list[str] = []
    for row, record in enumerate(records):
        try:
            name, label, pixels = _record(record)
        except Misuse as error:
            problems.append(f"record {row}: {error}")
            continue
        whole = maps.setdefault(name, np.zeros(pixels.shape, np.int32))
        if whole.shape != pixels.shape:
            problems.append(f"record {row}: {name!r} was {whole.shape} before and is {pixels.shape} here")
        elif (whole[pixels] != 0).any():
            problems.append(f"record {row}: overlaps an earlier mask of {name!r}; a pixel has one class")
        else:
            whole[pixels] = label
    if problems:
        raise InputInvalid(where, problems)
    return maps


def _record(record: Any) -> tuple[str, int, np.ndarray]:
    if not isinstance(record, dict):
        raise Misuse("no record")
    name = record.get("case")
    if name is None and {"video", "frame"} <= set(record):
        name = f"{record['video']}/{record['frame']}"
    if name is None:
        raise Misuse("names neither 'case' nor 'video' and 'frame'")
    label = record.get("class", 1)
    if isinstance(label, bool) or not isinstance(label, int) or not 0 < label < 65536:
        raise Misuse(f"'class' must be a whole number from 1 to 65535, got {label!r}")
    mask = mask_of_segmentation(record.get("segmentation", {}), height=record.get("height"), width=record.get("width"))
    if mask.height * mask.width > LARGEST_PIXELS:
        raise Misuse(f"an image of {mask.height} by {mask.width} pixels is larger than can be compared here")
    return str(name), label, pixels_of(mask)


def pixels_of(mask: Mask) -> np.ndarray:
    """The pixels of a mask of runs, `[row, column]`.

    Example:
        >>> pixels_of(mask_of_segmentation({"size": [2, 2], "counts": [1, 3]})).tolist()
        [[False, True], [True, True]]
    """
    steps = np.zeros(mask.height * mask.width + 1, np.int8)
    steps[mask.edges[0::2]] += 1
    steps[mask.edges[1::2]] -= 1
    flat: np.ndarray = np.cumsum(steps[:-1], dtype=np.int8).astype(bool)
    return flat.reshape(mask.width, mask.height).T
