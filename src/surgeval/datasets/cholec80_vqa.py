"""Cholec80-VQA: questions about phases and tools of the first 40 Cholec80 videos."""

from __future__ import annotations

from surgeval.datasets._data_set import DataSet, listed, the_rest
from surgeval.datasets._layouts import number_of_video
from surgeval.datasets._questions import QuestionFiles

KIND = "data set"
_SPLIT = {"val": (5, 11, 12, 17, 19, 26, 27, 31)}

_FILES = QuestionFiles(
    files="**/Classification/*/*.txt",
    place=r"(?:.*/)?Classification/(?P<video>\d{1,2})/(?P<frame>\d{1,9})_\w*\.txt",
    video=number_of_video("video{:02}", range(1, 41)),
    image="{video}/{frame}.png",
)

DATA_SET = DataSet(
    name="cholec80_vqa",
    title="Cholec80-VQA",
    citation="Seenivasan et al., Surgical-VQA, MICCAI 2022",
    source="https://github.com/lalithjets/Surgical_VQA; images by the form of Cholec80",
    checked_against="the maintainers' loader",
    licence=None,
    licence_note="the repository states none; the images are those of Cholec80",
    tasks={"answers": _FILES.task("one answer of 13 per question", "frames at 25 fps")},
    schemes={"official": listed("video{:02}", the_rest(range(1, 41), **_SPLIT))},
    notes=(
        "Folders are numbers without zeros; videos are called as in Cholec80. The makers use every 100th frame.",
        "The list of the 13 answers is not stated here: classes are those that occur, which the result says.",
        "Videos are 1 to 40 of Cholec80: never test on what was trained there.",
    ),
)
