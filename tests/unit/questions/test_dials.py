"""What makes a question hard to see is a column of its case, from the annotations to the failure analysis."""

import json

import numpy as np
import polars as pl
import pytest

from surgvalid import failures, score
from surgvalid.questions.make import make_questions
from surgvalid.schema.procedures.procedure_files import procedure_from_dict, procedure_to_dict
from surgvalid.schema.procedures.tracks import EVERYTHING, Procedure, Track, Visibility
from surgvalid.schema.questions.questions import DIALS

NUMBERS = DIALS[:6]


def video(number: int) -> Procedure:
    """Two objects that come and go, with a number of each dial at every point."""
    draw = np.random.default_rng(number)
    tracks = []
    for name in ("Sponge", "Clip", "Needle"):
        seconds = np.flatnonzero(draw.random(120) < 0.6)
        codes = draw.choice([0, 1, 2], len(seconds), p=[0.6, 0.3, 0.1]).astype(np.uint8)
        boxes = np.tile((*draw.integers(0, 300, 2), 40, 30), (len(seconds), 1))
        dials = {dial: draw.uniform(1, 60, len(seconds)).round(3) for dial in NUMBERS}
        tracks.append(Track(name.lower(), name, seconds, boxes, codes, dials=dials))
    return Procedure(f"v{number}", "Cholecystectomy", "A", 120, 480, 270, tuple(tracks), declared=EVERYTHING)


def expected(procedure: Procedure, instances: list[str], start_s: int, end_s: int) -> dict[str, float]:
    """By loops: of each object the second with most pixels, then the hardest object."""
    told: dict[str, list[float]] = {}
    hidden, shown = 0, 0
    for name in instances:
        track = procedure.track(name)
        points = [
            k
            for k, s in enumerate(track.seconds)
            if start_s <= s <= end_s and track.visibility[k] != Visibility.OUTSIDE
        ]
        if not points:
            continue
        best = max(points, key=lambda k: track.dials["seen_px"][k])
        for dial in NUMBERS:
            told.setdefault(dial, []).append(track.dials[dial][best])
        seconds = [int(track.seconds[k]) for k in points]
        told.setdefault("s_since_seen", []).append(end_s - seconds[-1])
        told.setdefault("s_visible", []).append(len(seconds))
        told.setdefault("times_seen", []).append(sum(s - 1 not in seconds for s in seconds))
        hidden += sum(track.visibility[k] == Visibility.OCCLUDED for k in points)
        shown += len(points)
    worst = {
        dial: (max if dial in ("distance_cm", "clutter", "s_since_seen") else min)(many) for dial, many in told.items()
    }
    return worst | ({"hidden_share": round(hidden / shown, 3)} if shown else {})


@pytest.fixture(scope="module")
def made():
    procedures = [video(number) for number in range(6)]
    return {p.video: p for p in procedures}, make_questions(procedures, per_video=40, test_share=0, seed=3)


def test_dials_survive_a_file():
    procedure = video(0)
    assert procedure_from_dict(json.loads(json.dumps(procedure_to_dict(procedure)))) == procedure


def test_every_case_has_the_dials_that_loops_find(made):
    procedures, benchmark = made
    compared = 0
    for question in benchmark.questions:
        request, strata = question.request, question.reference.strata
        told = {dial: strata[dial] for dial in DIALS if dial in strata}
        window = int(request.start_s), int(request.end_s)
        assert told == pytest.approx(expected(procedures[request.video], list(question.draft.proof.instances), *window))
        compared += bool(told)
    assert compared > 150


def test_dials_are_columns_of_scores_from_which_failures_finds_what_was_hard(made, tmp_path):
    _, benchmark = made
    benchmark.to_dir(tmp_path / "asked")
    rng, tables = np.random.default_rng(0), []
    for track in ("frame", "segment"):
        folder = tmp_path / "asked" / "train" / track
        references = json.loads((folder / "references.json").read_text())
        answers = [
            {
                "qID": row["qID"],
                "content": row["answer"] if rng.random() < row.get("contrast", 30) / 60 else "?",
                "latency": 0.1,
            }
            for row in references
        ]
        (tmp_path / "answers.json").write_text(json.dumps(answers))
        result = score(
            folder / "requests.json", folder / "references.json", tmp_path / "answers.json", model="m", judges=["exact"]
        )
        assert {result.scores.frame[dial].dtype for dial in DIALS} == {pl.Float64}
        tables.append(result.scores.frame.filter(metric="correct"))
    rows = pl.concat(tables, how="diagonal_relaxed").drop_nulls("contrast")
    found = failures(rows, outcome="value", fixed=["contrast"], random=["video"])
    [effect] = found.tables["effects"].filter(term="contrast").to_dicts()
    assert effect["estimate"] > 0
    assert effect["p_value"] < 0.001
