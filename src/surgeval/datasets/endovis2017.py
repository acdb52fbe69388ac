"""EndoVis 2017: robotic instruments in ten sequences of pig surgery, with binary masks and masks of types.

Training masks lie one file per instrument in `instrument_dataset_N/ground_truth/<folder>/`, test masks as label maps
in `instrument_dataset_N/{BinarySegmentation,TypeSegmentation}/`. Test sequences 1 to 8 continue training sequences 1
to 8, so a sequence is one unit on both sides.
"""

from __future__ import annotations

from surgeval.datasets._comparison import Comparison
from surgeval.datasets._data_set import DataSet, Task, listed, the_rest
from surgeval.datasets._layouts import MaskFiles

KIND = "data set"
TYPES = {
    1: "Bipolar Forceps",
    2: "Prograsp Forceps",
    3: "Large Needle Driver",
    4: "Vessel Sealer",
    5: "Grasping Retractor",
    6: "Monopolar Curved Scissors",
    7: "Other",
}
FOLDS = ((1, 3), (2, 5), (4, 8), (6, 7))
"""The validation sequences of TernausNet's four folds."""
_SEQUENCE = r"(?:.*/)?instrument_dataset_(?P<video>\d{1,2})"


def _maps(kind: str) -> MaskFiles:
    return MaskFiles(
        files=f"**/instrument_dataset_*/{kind}/*.png",
        place=rf"{_SEQUENCE}/{kind}/frame(?P<frame>\d{{1,9}})\.png",
        video="instrument_dataset_{video}",
    )


_LABELS = MaskFiles(
    files="**/instrument_dataset_*/ground_truth/*/*.png",
    place=rf"{_SEQUENCE}/ground_truth/(?P<instrument>[^/]+)/frame(?P<frame>\d{{1,9}})\.png",
    video="instrument_dataset_{video}",
    case="{video}/{frame}/{instrument}",
    strata=("instrument",),
)

DATA_SET = DataSet(
    name="endovis2017",
    title="EndoVis 2017 robotic instrument segmentation",
    citation="Allan et al., 2017 Robotic instrument segmentation challenge, arXiv 1902.06426, 2019",
    source="https://endovissub2017-roboticinstrumentsegmentation.grand-challenge.org",
    checked_against="the challenge page and ISINet",
    licence=None,
    licence_note="terms of the challenge",
    tasks={
        "binary": Task(
            summary="label maps of instruments against everything else (test set)",
            read=_maps("BinarySegmentation").read,
            clock="frames at 2 Hz",
            rate_hz=2.0,
            published={"cases": 8 * 75 + 2 * 300, "videos": 10},
            compared=Comparison(kind="segmentation", masks="mask_file", options={"classes": (1,), "recoded": {255: 1}}),
        ),
        "types": Task(
            summary="label maps of seven types of instruments (test set)",
            read=_maps("TypeSegmentation").read,
            clock="frames at 2 Hz",
            rate_hz=2.0,
            published={"cases": 8 * 75 + 2 * 300, "videos": 10},
            compared=Comparison(kind="segmentation", masks="mask_file", options={"classes": tuple(TYPES)}),
        ),
        "labels": Task(
            summary="files of masks, one per instrument (training set)",
            read=_LABELS.read,
            clock="frames at 2 Hz",
            rate_hz=2.0,
            one_row_per_case=False,
            published={"videos": 8},
        ),
    },
    schemes={
        f"ternausnet fold {at}": listed("instrument_dataset_{}", the_rest(range(1, 9), val=fold))
        for at, fold in enumerate(FOLDS)
    },
    unofficial=tuple(f"ternausnet fold {at}" for at in range(len(FOLDS))),
    notes=(
        "Test sequences 1-8 continue training sequences 1-8: whoever tests on one must not train on the same number.",
        "Types: " + ", ".join(f"{n} {name}" for n, name in TYPES.items()) + ". 7 is the ultrasound probe.",
        "Images are to be cropped to 1280 x 1024 at (320, 28); masks of a model must have the size of the label maps.",
        "What the values within a training mask mean (parts of the instrument) is not confirmed, so these files are "
        "listed and not compared.",
    ),
)
