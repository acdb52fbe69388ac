"""PitVQA: questions about 25 videos of pituitary surgery."""

from __future__ import annotations

from surgeval.datasets._data_set import DataSet, listed, the_rest
from surgeval.datasets._layouts import number_of_video
from surgeval.datasets._questions import QuestionFiles

KIND = "data set"
_SPLIT = {"val": (2, 6, 12, 13, 24)}

_FILES = QuestionFiles(
    files="**/QA/video_*/*.txt",
    place=r"(?:.*/)?QA/(?P<video>video_\d{2})/(?P<frame>\d{1,9})\.txt",
    video=number_of_video("video_{:02}", range(1, 26)),
    image="images/{video}/{frame}.png",
    dropped=("no_visible_instrument", "no_secondary_instrument"),
)

DATA_SET = DataSet(
    name="pitvqa",
    title="PitVQA",
    citation="He et al., PitVQA, MICCAI 2024",
    source="https://github.com/mobarakol/PitVQA",
    checked_against="the maintainers' loader",
    licence=None,
    licence_note="not stated in the sources read",
    tasks={"answers": _FILES.task("one answer of 59 per question", "seconds from 0", videos=25, cases=884_242)},
    schemes={"official": listed("video_{:02}", the_rest(range(1, 26), **_SPLIT))},
    notes=(
        "As the authors do, answers no_visible_instrument and no_secondary_instrument are left out; the published "
        "number of pairs counts them, so fewer cases are found than published.",
        "Frames without a file were blurred. The split has no test part.",
        "The list of the 59 answers is not stated here: classes are those that occur, which the result says.",
    ),
)
