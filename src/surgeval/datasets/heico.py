"""HeiCo / ROBUST-MIS: 10,040 frames of three kinds of surgery with instrument instances.

`{split}/{surgery type}/{patient}/{frame}/` holds `raw.png` and `instrument_instances.png`, an 8-bit mask whose
values are 0 for background and otherwise the ids of instances.
"""

from __future__ import annotations

import polars as pl

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task
from surgeval.datasets._folder import Folder, whole_number

KIND = "data set"
_MASK, _IMAGE = "instrument_instances.png", "raw.png"
_MASK_BITS = 8
_SCHEMA: dict[str, type[pl.DataType]] = {
    "case": pl.String,
    "video": pl.String,
    "frame": pl.Int64,
    "split": pl.String,
    "surgery_type": pl.String,
    "image_file": pl.String,
    "mask_file": pl.String,
}


def _masks(folder: Folder) -> pl.DataFrame:
    rows = []
    for image in folder.files(f"*/*/*/*/{_IMAGE}"):
        place = image.parent.relative_to(folder.root)
        split, surgery, patient, frame = place.parts
        mask = image.with_name(_MASK)
        if not mask.is_file():
            folder.problem("missing", mask, "no such file")
            continue
        header = folder.png(mask)
        if header is not None and header.bit_depth != _MASK_BITS:
            folder.problem("malformed", mask, f"{header.bit_depth} bits per sample, expected {_MASK_BITS}")
        number = whole_number(frame)
        if number is None:
            folder.problem("malformed", image, f"the folder of a frame must be its number, got {frame[:20]!r}")
            continue
        files = [path.relative_to(folder.root).as_posix() for path in (image, mask)]
        rows.append((place.as_posix(), f"{surgery}/{patient}", number, split, surgery, *files))
    return pl.DataFrame(rows, schema=_SCHEMA, orient="row")


DATA_SET = DataSet(
    name="heico",
    title="HeiCo / ROBUST-MIS",
    citation="Maier-Hein et al., Heidelberg colorectal data set, Scientific Data 2021",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={
        "instances": Task(
            summary="files of instrument instance masks",
            read=_masks,
            clock="frames of the video",
            published={"cases": 10_040},
            compared=Comparison(kind="segmentation", masks="mask_file", options={"instances": True}),
        ),
    },
    split_sizes={"frames": {"train": 5_983, "test": 4_057}},
    notes=(
        "Exact names of the folders for stages and surgery types are not confirmed; they are taken as found.",
        "Stage 3 of the test set is a surgery type that is not in training.",
        "In ROBUST-MIPS instance ids are 50, 100, 150, ...; it also corrects masks, so the two are not exchangeable.",
        "The layout of HeiCo's phase and device files is not confirmed; they are not read.",
    ),
)
