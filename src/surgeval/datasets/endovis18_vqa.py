"""EndoVis18-VQA: questions about 14 sequences of the EndoVis 2018 challenge, with an answer or a sentence."""

from __future__ import annotations

from surgeval.datasets._data_set import DataSet, listed
from surgeval.datasets._layouts import number_of_video
from surgeval.datasets._questions import QuestionFiles

KIND = "data set"
ANSWERS = (
    *("kidney", "Idle", "Grasping", "Retraction", "Tissue_Manipulation", "Tool_Manipulation", "Cutting"),
    *("Cauterization", "Suction", "Looping", "Suturing", "Clipping", "Staple", "Ultrasound_Sensing"),
    *("left-top", "right-top", "left-bottom", "right-bottom"),
)
_SPLIT = {"train": (2, 3, 4, 6, 7, 9, 10, 11, 12, 14, 15), "val": (1, 5, 16)}


def _files(folder: str) -> QuestionFiles:
    return QuestionFiles(
        files=f"**/seq_*/{folder}/frame*_QA.txt",
        place=rf"(?:.*/)?(?P<video>seq_\d{{1,2}})/{folder}/frame(?P<frame>\d{{1,9}})_QA\.txt",
        video=number_of_video("seq_{}", [n for numbers in _SPLIT.values() for n in numbers]),
        image="{video}/left_fr/frame{frame}.png",
    )


_CLOCK = "frames as the files number them"

DATA_SET = DataSet(
    name="endovis18_vqa",
    title="EndoVis18-VQA",
    citation="Seenivasan et al., Surgical-VQA, MICCAI 2022",
    source="https://github.com/lalithjets/Surgical_VQA; images of the EndoVis 2018 challenge",
    checked_against="the maintainers' loaders and a real excerpt",
    licence=None,
    licence_note="the repository states none; the extension Surgical-VQLA is MIT",
    tasks={
        "answers": _files("vqa/Classification").task("one answer of 18 per question", _CLOCK, answers=ANSWERS),
        "located answers": _files("vqla/label").task(
            "one answer per question with a box (EndoVis18-VQLA)", _CLOCK, answers=ANSWERS
        ),
    },
    schemes={"official": listed("seq_{}", _SPLIT)},
    notes=(
        "The split is not that of the segmentation papers on the same videos. Sentences (vqa/Sentence) are not read.",
        "Boxes of the located answers are pixels of 1280 x 1024 that count from 1; they are not compared here.",
    ),
)
