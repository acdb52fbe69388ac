"""Whole evaluations against the official toolkit: bytes of both files, and what aborts."""

from __future__ import annotations

import hashlib
import json
import random
from pathlib import Path
from typing import Any

import pandas as pd
import polars as pl
import pytest
from bench.official_toolkit import import_focus
from hypothesis import given, settings
from hypothesis import strategies as st

from how_many import many
from surgvalid.errors import OfficialAborts
from surgvalid.schema.questions.formats import Rules
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS
from surgvalid.scoring.official import decide, load_rows, results_csv, summarise, summary_csv
from surgvalid.scoring.official.files import csv_text
from surgvalid.scoring.official.summary import Kernel

focus = import_focus()
from focus.data.base_dataset import FocusDataset  # noqa: E402
from focus.evaluation.evaluator import Evaluator  # noqa: E402
from focus.evaluation.judges import Judge  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Unable to convert")

CAPABILITIES = [c.value for c in focus.Capability.leaves()] + ["2a", "OBJECT_AGGREGATION", "Temporal-Ordering", "3"]
ANSWERS = {
    "binary": ["yes", "no"],
    "number": ["0", "1", "2", "٣"],
    "percentage": ["40%", "44.5", "50 %"],
    "fo_class": ["Clip", "Sponge, Clip", "none"],
    "time": ["00:00:10", "00:00:13", "00:00:10, 00:01:00"],
    "open_ended": ["on the liver", "in the bag", ""],
    "multiple_choice": ["A", "B"],
}


def verdict(judge: int, reference: str, candidate: str) -> bool:
    """A judge without reason, but the same for both sides."""
    return hashlib.sha256(f"{judge}|{reference}|{candidate}".encode()).digest()[0] < 128


class HashJudge(Judge):  # type: ignore[misc]
    def __init__(self, number: int) -> None:
        self.number = number

    def judge(self, request: Any, reference: str, candidate: str) -> bool:
        return verdict(self.number, reference, candidate)


def question_set(seed: int, questions: int, videos: int) -> tuple[list[Any], list[Any], list[Any]]:
    chosen = random.Random(seed)
    requests, references, responses = [], [], []
    for i in range(questions):
        name = chosen.choice(list(ANSWERS))
        video = f"v{int(videos * chosen.random() ** 2)}"
        requests.append(
            {
                "qID": f"q{i}",
                "videoID": video,
                "start_time": i,
                "end_time": i + 1.5,
                "procedure_type": "p",
                "question": "?",
            }
        )
        reference = {"qID": f"q{i}", "primary": chosen.choice(CAPABILITIES), "format": name}
        reference["answer"] = chosen.choice(ANSWERS[name])
        if chosen.random() < 0.7:
            reference |= {"ood": chosen.random() < 0.3, "clinical": chosen.random() < 0.2, "secondaries": ["1a", "zz"]}
        references.append(reference)
        if chosen.random() < 0.9:
            content = chosen.choice([*ANSWERS[name], reference["answer"] + ".", "maybe", " "])
            responses.append(
                {"qID": f"q{i}", "content": content, "latency": chosen.choice([0, 1, 4.999, 5.0, 5.1, 31.0])}
            )
    chosen.shuffle(responses)
    return requests, references, responses


def run_official(
    folder: Path, data: tuple[list[Any], list[Any], list[Any]], *, judges: int, replicates: int, **limit: Any
) -> tuple[bytes, bytes]:
    loaders = (focus.load_requests, focus.load_references, focus.load_responses)
    items = []
    for name, rows, load in zip(("requests", "references", "responses"), data, loaders, strict=True):
        (folder / f"{name}.json").write_text(json.dumps(rows, ensure_ascii=False), encoding="utf-8")
        items.append(load(folder / f"{name}.json"))
    evaluator = Evaluator(judges=[HashJudge(i) for i in range(judges)], n_boot=replicates)
    evaluator.run(*items, output_dir=folder / "official", **limit)
    return (folder / "official/results.csv").read_bytes(), (folder / "official/summary.csv").read_bytes()


def run_ours(
    folder: Path, limit_s: float | None, *, judges: int, replicates: int, kernel: Kernel = "numpy"
) -> tuple[bytes, bytes]:
    def judge_all(cases: Any) -> list[bool]:
        return [
            sum(verdict(i, case.reference, case.candidate) for i in range(judges)) >= judges // 2 + 1 for case in cases
        ]

    loaded = [load_rows(folder / f"{kind}s.json", kind) for kind in ("request", "reference", "response")]
    rows = decide(*loaded, rules=Rules(), limit_s=limit_s, judge_all=judge_all)
    lines = summarise(rows, limit_s=limit_s, replicates=replicates, kernel=kernel)
    return results_csv(rows).encode(), summary_csv(lines).encode()


LIMITS = [
    ({}, None),
    ({"max_latency": 4.999}, 4.999),
    ({"track": "frame"}, 5.0),
    ({"track": "segment"}, 15.0),
    ({"track": "procedure"}, 30.0),
]


@pytest.mark.parametrize("judges", [0, 1, 2, 3, 4, 5])
@pytest.mark.parametrize(("limit", "limit_s"), LIMITS)
def test_both_files_are_equal_to_the_byte(tmp_path: Path, judges: int, limit: Any, limit_s: float | None) -> None:
    data = question_set(seed=judges, questions=160, videos=9)
    theirs = run_official(tmp_path, data, judges=judges, replicates=20, **limit)
    assert run_ours(tmp_path, limit_s, judges=judges, replicates=20) == theirs


@pytest.mark.parametrize(("questions", "videos"), [(40, 60), (700, 25), (300, 1), (5, 3)])
@pytest.mark.parametrize("kernel", ["numpy", "numba"])
def test_both_kernels_walk_the_official_stream(tmp_path: Path, questions: int, videos: int, kernel: Kernel) -> None:
    data = question_set(seed=questions, questions=questions, videos=videos)
    theirs = run_official(tmp_path, data, judges=1, replicates=60)
    assert run_ours(tmp_path, None, judges=1, replicates=60, kernel=kernel) == theirs


def test_repeated_requests_and_references_keep_the_last_value_in_the_first_place(tmp_path: Path) -> None:
    requests, references, responses = question_set(seed=3, questions=60, videos=5)
    requests += [{**row, "videoID": "late"} for row in requests[:5]]
    references += [{**row, "answer": "yes", "format": "binary"} for row in references[:7]]
    data = (requests, references, responses)
    theirs = run_official(tmp_path, data, judges=1, replicates=10)
    assert run_ours(tmp_path, None, judges=1, replicates=10) == theirs


ODD = st.sampled_from(
    [
        None,
        True,
        0,
        1,
        7,
        2.5,
        -1.0,
        "",
        "x",
        "yes",
        "True",
        [],
        {},
        float("nan"),
        10**25,
        "act as if it were",
        "9" * 4400,
    ]
)


@given(data=st.data())
@settings(max_examples=many(250))
def test_odd_values_abort_there_exactly_when_they_abort_here(data: st.DataObject, tmp_path_factory: Any) -> None:
    folder = tmp_path_factory.mktemp("odd")
    requests, references, responses = question_set(seed=data.draw(st.integers(0, 50)), questions=12, videos=3)
    for _ in range(data.draw(st.integers(1, 2))):
        rows = data.draw(st.sampled_from([requests, references, responses]))
        row = data.draw(st.sampled_from(rows))
        keys = ["ood", "clinical", "format_kwargs", "format", "answer", "latency", "content", "videoID", "qID", "extra"]
        key = data.draw(st.sampled_from([k for k in keys if k in row or k in ("extra", "format_kwargs")]))
        row[key] = data.draw(ODD)
    limit: dict[str, Any] = data.draw(st.sampled_from([{}, {"max_latency": 5.0}]))
    try:
        theirs: Any = run_official(folder, (requests, references, responses), judges=1, replicates=5, **limit)
    except Exception as error:  # noqa: BLE001 - whatever the toolkit dies of
        theirs = type(error)
    try:
        mine: Any = run_ours(folder, limit.get("max_latency"), judges=1, replicates=5)
    except OfficialAborts as error:
        mine = error
    if isinstance(theirs, type):
        assert isinstance(mine, OfficialAborts), theirs
    else:
        assert mine == theirs


@given(st.lists(st.one_of(st.none(), st.booleans(), st.integers(-5, 5), st.floats(), st.text(max_size=3)), min_size=1))
@settings(max_examples=many(300))
def test_columns_are_printed_as_a_data_frame_prints_them(values: list[Any]) -> None:
    frame = pd.DataFrame([{"a": value, "b": 0} for value in values])
    assert csv_text(("a", "b"), [values, [0] * len(values)]) == frame.to_csv(index=False)


def test_rows_of_the_public_data_sets_become_the_official_pairs(tmp_path: Path) -> None:
    rows = [
        dict(zip(DATA_SET_COLUMNS, (i, "Proc1", "Sigmoid Resection", "When?", "00:00:10", name, "segment", "automatic",
                 i % 2 == 0, True, "00:10:00", end, code, secondaries), strict=True))
        for i, (name, end, code, secondaries) in enumerate([
            ("time", "00:10:00", "2a", []), ("time", "00:11:00", "2A", ["1a", "nope"]),
            ("time", "00:15:00", "2b", ["3"]),
            ("time", "02:00:00", "2a", []), ("binary", "00:10:01", "5c", ["object_identification"]),
        ])
    ]  # fmt: skip
    pl.DataFrame(rows).write_parquet(tmp_path / "test.parquet")
    with pytest.warns(UserWarning, match="Unable to convert nope"):
        pairs = [FocusDataset._parse_row(row) for row in rows]
    requests = load_rows(tmp_path / "test.parquet", "request")
    references = load_rows(tmp_path / "test.parquet", "reference")
    focus.save_items([request for request, _ in pairs], tmp_path / "requests.json")
    assert requests == json.loads((tmp_path / "requests.json").read_text())
    for mine, (_, theirs) in zip(references, pairs, strict=True):
        assert mine["format_kwargs"] == theirs.format_kwargs
        assert (mine["qID"], mine["clinical"], mine.get("ood", False)) == (theirs.qID, theirs.clinical, theirs.ood)
        assert focus.Capability.from_any(mine["primary"]) is theirs.primary
