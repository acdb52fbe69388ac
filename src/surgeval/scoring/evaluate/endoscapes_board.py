"""Published rows of the Endoscapes2023 benchmark, in percent as printed, and where their means are not means.

Source: Murali et al., The Endoscapes Dataset, arXiv 2312.12429: Table 2 (boxes), 3 and 6 (instances), 7 (critical view
of safety) and 8 (few labels). All values are of the test videos; none has an interval.

The one decision: a printed mean is marked where it differs from the mean of its printed parts by more than rounding
can explain. Parts and mean are printed to a tenth, so each is off by at most 0.05 and the two by at most 0.1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import polars as pl

from surgeval.results.tables import Table

CODES = ("C1", "C2", "C3")
STRUCTURES = ("cystic_plate", "calot_triangle", "cystic_artery", "cystic_duct", "gallbladder", "tool")
"""The classes of boxes and masks in the order of the tables; the second is printed as HC triangle dissection."""

_CVS = "CVS201"
_BOXES, _SEG50, _SEG201 = f"BBox201 + {_CVS}", f"Seg50 + {_CVS}", f"Seg201 + {_CVS}"

TABLE_2: dict[str, tuple[float, ...]] = {
    "Faster-RCNN": (8.0, 19.4, 12.6, 15.5, 62.9, 61.5, 30.0),
    "Cascade-RCNN": (7.5, 18.4, 12.1, 13.8, 61.5, 62.4, 29.3),
    "Deformable-DETR": (9.3, 19.9, 14.9, 19.0, 69.6, 63.7, 32.7),
}
"""Box mAP of the six classes and overall."""

TABLE_3: dict[str, tuple[tuple[float, ...], tuple[float, ...]]] = {
    "Mask-RCNN": ((2.8, 2.9, 12.7, 7.4, 45.8, 49.7, 20.2), (3.3, 3.8, 11.9, 7.9, 59.1, 51.2, 22.9)),
    "Cascade-Mask-RCNN": ((3.1, 11.1, 15.7, 11.7, 62.0, 63.2, 27.8), (6.5, 6.7, 10.8, 10.0, 62.7, 56.8, 25.6)),
    "Mask2Former": ((1.4, 14.3, 6.4, 14.7, 68.7, 67.1, 28.8), (1.7, 8.3, 7.6, 15.9, 62.6, 63.5, 26.6)),
}
"""Box and mask mAP of the six classes and overall, trained on Seg50."""

TABLE_6: dict[tuple[str, str], tuple[float, float]] = {
    ("Seg50", "Mask-RCNN"): (20.2, 22.9),
    ("Seg50", "Cascade-Mask-RCNN"): (27.8, 25.6),
    ("Seg50", "Mask2Former"): (28.8, 26.6),
    ("Seg201", "Mask-RCNN"): (29.2, 28.6),
    ("Seg201", "Cascade-Mask-RCNN"): (31.7, 30.0),
    ("Seg201", "Mask2Former"): (30.9, 31.2),
}
"""Box and mask mAP by what was trained on."""

TABLE_7: dict[tuple[str, str], tuple[float, ...]] = {
    (_CVS, "ResNet50"): (42.9, 46.5, 65.1, 51.5, 57.6, 63.7, 70.2, 63.8),
    (_CVS, "ResNet50 with reconstruction"): (46.2, 48.1, 62.8, 52.1, 67.3, 64.3, 60.7, 64.1),
    (_CVS, "ResNet50-MoCov2"): (46.4, 56.5, 69.4, 57.4, 63.5, 68.1, 68.4, 66.7),
    (_BOXES, "LayoutCVS"): (53.5, 37.6, 53.4, 48.2, 68.2, 65.7, 62.3, 65.4),
    (_BOXES, "DeepCVS"): (53.7, 44.9, 52.9, 50.5, 68.7, 69.3, 63.4, 67.1),
    (_BOXES, "ResNet50-DetInit"): (61.2, 53.7, 65.7, 60.2, 71.5, 72.9, 65.8, 70.0),
    (_BOXES, "LG-CVS"): (65.7, 56.3, 67.9, 63.3, 75.8, 76.1, 72.9, 74.9),
    (_BOXES, "DeepCVS-Temporal*"): (59.4, 47.8, 66.2, 57.8, 69.1, 64.2, 67.4, 66.9),
    (_BOXES, "STRG*"): (53.8, 57.3, 70.4, 60.5, 64.8, 69.2, 75.4, 69.8),
    (_BOXES, "SV2LSTG*"): (65.9, 59.0, 70.9, 65.3, 70.4, 68.4, 73.6, 70.8),
    (_SEG50, "LayoutCVS"): (62.2, 50.5, 58.5, 57.1, 68.2, 70.8, 69.2, 69.4),
    (_SEG50, "DeepCVS"): (62.3, 45.7, 59.9, 56.0, 71.8, 71.6, 70.3, 71.2),
    (_SEG50, "ResNet50-DetInit"): (58.5, 54.9, 62.0, 58.5, 72.2, 70.0, 69.2, 70.5),
    (_SEG50, "LG-CVS"): (67.9, 53.6, 68.0, 63.2, 75.8, 75.4, 73.2, 74.8),
    (_SEG50, "DeepCVS-Temporal*"): (63.5, 53.8, 64.4, 60.5, 75.6, 73.8, 71.1, 73.5),
    (_SEG50, "STRG*"): (52.4, 55.5, 69.2, 59.0, 62.3, 69.1, 73.7, 68.4),
    (_SEG50, "SV2LSTG*"): (66.0, 56.4, 70.6, 64.3, 76.2, 73.8, 70.3, 73.4),
    (_SEG201, "LayoutCVS"): (63.4, 49.1, 58.2, 56.9, 69.4, 67.6, 68.5, 68.5),
    (_SEG201, "DeepCVS"): (65.9, 52.6, 61.8, 60.2, 74.0, 73.4, 70.7, 72.3),
    (_SEG201, "ResNet50-DetInit"): (57.3, 54.9, 69.3, 60.5, 69.0, 70.2, 74.3, 71.2),
    (_SEG201, "LG-CVS"): (69.5, 60.7, 71.8, 67.3, 78.6, 81.4, 79.4, 79.8),
    (_SEG201, "DeepCVS-Temporal*"): (67.8, 55.9, 67.7, 63.8, 78.2, 75.4, 75.6, 76.4),
    (_SEG201, "STRG*"): (54.7, 57.9, 72.5, 61.7, 63.3, 74.2, 80.3, 72.6),
    (_SEG201, "SV2LSTG*"): (69.3, 64.8, 73.6, 69.7, 83.5, 82.8, 80.9, 82.4),
}
"""mAP of C1, C2, C3 and their mean, then balanced accuracy likewise; a star marks methods that see several frames."""

TABLE_8: dict[tuple[str, str], tuple[float, float, float, float]] = {
    ("12.5 % of CVS201", "ResNet50"): (33.8, 4.1, 51.2, 2.7),
    ("12.5 % of CVS201", "ResNet50-MoCov2"): (38.9, 5.6, 55.5, 4.3),
    ("25 % of CVS201", "ResNet50"): (40.5, 7.0, 56.1, 6.2),
    ("25 % of CVS201", "ResNet50-MoCov2"): (48.8, 3.2, 63.6, 3.3),
}
"""mAP and its SD, balanced accuracy and its SD, over three samples of training videos."""


class Slip(NamedTuple):
    """A printed mean that is not the mean of its printed parts."""

    table: int
    trained_on: str
    model: str
    what: str
    printed: float
    mean_of_parts: float


def is_slip(printed: float, parts: tuple[float, ...]) -> bool:
    """Whether a printed mean cannot come from the parts, all printed to a tenth.

    Example:
        >>> is_slip(69.7, (69.3, 64.8, 73.6)), is_slip(60.2, (65.9, 52.6, 61.8))
        (True, False)
    """
    tenths = [round(10 * number) for number in parts]
    return abs(len(parts) * round(10 * printed) - sum(tenths)) > len(parts)


def slips() -> list[Slip]:
    """Every mean of Tables 2, 3 and 7 that its parts do not give."""
    listed: list[tuple[int, str, str, str, tuple[float, ...]]] = []
    listed += [(2, "BBox201", model, "box mAP", row) for model, row in TABLE_2.items()]
    for model, sides in TABLE_3.items():
        listed += [(3, "Seg50", model, what, row) for what, row in zip(("box mAP", "mask mAP"), sides, strict=True)]
    for (trained_on, model), row in TABLE_7.items():
        listed += [(7, trained_on, model, "mAP", row[:4]), (7, trained_on, model, "bAcc", row[4:])]
    return [
        Slip(table, trained_on, model, what, row[-1], round(sum(row[:-1]) / len(row[:-1]), 2))
        for table, trained_on, model, what, row in listed
        if is_slip(row[-1], row[:-1])
    ]


def _mark(table: int, trained_on: str, model: str) -> str | None:
    texts = [
        f"{slip.what} mean printed {slip.printed:.1f}, its parts give {slip.mean_of_parts:.1f}"
        for slip in slips()
        if (slip.table, slip.trained_on, slip.model) == (table, trained_on, model)
    ]
    return "; ".join(texts) or None


CVS_NUMBERS = tuple(f"{what}_{column}" for what in ("map", "bacc") for column in (*CODES, "mean"))
BOX_NUMBERS = (*STRUCTURES, "bbox_map")
MASK_NUMBERS = (
    "bbox_map",
    "segm_map",
    *(f"bbox_{name}" for name in STRUCTURES),
    *(f"segm_{name}" for name in STRUCTURES),
)
_PROTOCOL = {
    "cvs": "percent; per criterion over all test frames, then the mean; interpolation of AP not stated; no interval",
    "coco": "percent; mAP at IoU 0.50 to 0.95, test images pooled; no interval",
}


def cvs_rows() -> list[dict[str, Any]]:
    """Tables 7 and 8."""
    rows = [
        _row(7, trained_on, model, dict(zip(CVS_NUMBERS, values, strict=True)), "cvs")
        for (trained_on, model), values in TABLE_7.items()
    ]
    for (trained_on, model), (ap, ap_sd, accuracy, accuracy_sd) in TABLE_8.items():
        row = _row(8, trained_on, model, {"map_mean": ap, "bacc_mean": accuracy}, "cvs")
        rows.append({**row, "mark": f"SD {ap_sd} and {accuracy_sd} over three samples of training videos"})
    return rows


def box_rows() -> list[dict[str, Any]]:
    """Table 2."""
    return [
        _row(2, "BBox201", model, dict(zip(BOX_NUMBERS, values, strict=True)), "coco")
        for model, values in TABLE_2.items()
    ]


def mask_rows() -> list[dict[str, Any]]:
    """Table 6, with the classes of Table 3 where it has them."""
    rows = []
    for (trained_on, model), (bbox, segm) in TABLE_6.items():
        numbers = {"bbox_map": bbox, "segm_map": segm}
        if trained_on == "Seg50":
            for prefix, side in zip(("bbox", "segm"), TABLE_3[model], strict=True):
                numbers |= {f"{prefix}_{name}": value for name, value in zip(STRUCTURES, side[:-1], strict=True)}
        rows.append(_row(6, trained_on, model, numbers, "coco"))
    return rows


def _row(table: int, trained_on: str, model: str, numbers: dict[str, float], protocol: str) -> dict[str, Any]:
    marked = 3 if table == 6 else table
    return {
        "model": model,
        "trained_on": trained_on,
        "source": f"Table {table}",
        **numbers,
        "mark": _mark(marked, trained_on, model),
        "conventions": _PROTOCOL[protocol],
    }


def board(
    table: Table,
    rows: list[dict[str, Any]],
    this_run: dict[str, Any],
    numbers: tuple[str, ...],
    order: str,
    lacking: str = "",
) -> pl.DataFrame:
    """Published rows and this run's, best first; this run comes first where numbers are equal.

    A run that is not of the whole test part has no place among the others: it comes last and says so.

    Args:
        table: Its declaration.
        rows: Published rows.
        this_run: `model` and the numbers of this run, in percent; those it lacks are left empty.
        numbers: The columns in between.
        order: The number that decides the order.
        lacking: What this run lacks of the test part that the published rows are of.
    """
    mine = {"source": "this run", "trained_on": "-", **this_run}
    if lacking:
        mark = "; ".join(text for text in (f"NOT COMPARABLE: {lacking.rstrip('.')}", this_run.get("mark")) if text)
        mine |= {"source": "this run, incomplete", "mark": mark}
    names = ("model", "trained_on", "source", *numbers, "mark", "conventions")
    frame = table.frame([{name: row.get(name) for name in names} for row in (mine, *rows)])
    ordered = pl.col("source") == "this run, incomplete"
    return frame.with_columns(pl.col(numbers).cast(pl.Float64)).sort(
        ordered, order, descending=[False, True], nulls_last=True, maintain_order=True
    )
