"""SSG-VQA: questions about scenes of 45 CholecT45 videos, from scene graphs."""

from __future__ import annotations

from surgeval.datasets._cholect import videos_of
from surgeval.datasets._data_set import DataSet, listed, the_rest
from surgeval.datasets._layouts import number_of_video
from surgeval.datasets._questions import QuestionFiles

KIND = "data set"
_VIDEOS = videos_of(outside_cholec80=False)
_SPLIT = {"val": (18, 48, 1, 35, 31), "test": (22, 74, 60, 2, 43)}

_FILES = QuestionFiles(
    files="**/qa_txt/VID*/*.txt",
    place=r"(?:.*/)?qa_txt/(?P<video>VID\d{2,3})/(?P<frame>\d{1,9})\.txt",
    video=number_of_video("VID{:02}", _VIDEOS),
    image="data/{video}/{number:06}.png",
    skipped_lines=2,
    cells=4,
    kind=3,
)

DATA_SET = DataSet(
    name="ssg_vqa",
    title="SSG-VQA",
    citation="Yuan et al., Advancing surgical VQA with scene graph knowledge, 2024",
    source="https://github.com/CAMMA-public/SSG-VQA; images by the form of CholecT45",
    checked_against="the maintainers' loader",
    licence="CC BY-NC-SA 4.0",
    tasks={"answers": _FILES.task("one answer of 51 per question, with the type of the question", "frames at 1 fps")},
    schemes={"official": listed("VID{:02}", the_rest(_VIDEOS, **_SPLIT))},
    notes=(
        "The first two lines of a file are no questions. Frames are the seconds of CholecT45 (image %06d).",
        "The list of the 51 answers is not stated here: classes are those that occur, which the result says.",
        "Videos are those of CholecT45: never test on what was trained there.",
    ),
)
