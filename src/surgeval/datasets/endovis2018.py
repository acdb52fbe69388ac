"""EndoVis 2018: robotic scene segmentation of 15 pig nephrectomies, twelve classes as colours."""

from __future__ import annotations

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task, listed, the_rest
from surgeval.datasets._layouts import MaskFiles

KIND = "data set"
CLASSES = {
    0: ("background-tissue", (0, 0, 0)),
    1: ("instrument-shaft", (0, 255, 0)),
    2: ("instrument-clasper", (0, 255, 255)),
    3: ("instrument-wrist", (125, 255, 12)),
    4: ("kidney-parenchyma", (255, 55, 0)),
    5: ("covered-kidney", (24, 55, 125)),
    6: ("thread", (187, 155, 25)),
    7: ("clamps", (0, 255, 125)),
    8: ("suturing-needle", (255, 255, 125)),
    9: ("suction-instrument", (123, 15, 175)),
    10: ("small-intestine", (124, 155, 5)),
    11: ("ultrasound-probe", (12, 255, 141)),
}
SEQUENCES = tuple(n for n in range(1, 17) if n != 8)
ISINET_VAL = (2, 5, 9, 15)

_LABELS = MaskFiles(
    files="**/seq_*/labels/frame*.png",
    place=r"(?:.*/)?(?P<video>seq_\d{1,2})/labels/frame(?P<frame>\d{1,9})\.png",
    spelled=str.lower,
)

DATA_SET = DataSet(
    name="endovis2018",
    title="EndoVis 2018 robotic scene segmentation",
    citation="Allan et al., 2018 Robotic scene segmentation challenge, arXiv 2001.11190, 2020",
    source="https://endovissub2018-roboticscenesegmentation.grand-challenge.org",
    checked_against="six readers and ISINet",
    licence=None,
    licence_note="terms of the challenge",
    tasks={
        "masks": Task(
            summary="label maps of twelve classes, stored as colours",
            read=_LABELS.read,
            clock="frames as the files number them",
            published={"videos": len(SEQUENCES)},
            compared=Comparison(
                kind="segmentation",
                masks="mask_file",
                options={
                    "classes": tuple(number for number in CLASSES if number),
                    "colours": {colour: number for number, (_, colour) in CLASSES.items()},
                },
            ),
        ),
    },
    schemes={"isinet": listed("seq_{}", the_rest(SEQUENCES, val=ISINET_VAL))},
    unofficial=("isinet",),
    notes=(
        "Classes: " + ", ".join(f"{n} {name}" for n, (name, _) in CLASSES.items()) + ".",
        "Masks of a model may hold the numbers 0 to 11 or the colours. Some label files are RGBA.",
        "The split 'isinet' (validation 2, 5, 9, 15) is that paper's; question sets on these videos split otherwise.",
        "One of six readers has another colour for thread (128, 155, 25); a colour outside the table is refused.",
    ),
)
