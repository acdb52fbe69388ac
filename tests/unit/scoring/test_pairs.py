"""Pairs of questions that differ in the image alone: right is who is right on both, and words alone never are."""

import numpy as np
import polars as pl
import pytest

from builders import reference_row, request_row, response_row, write_json
from surgvalid import score, trivial_baselines

ANSWERS = [("yes", "no"), ("no", "yes"), ("yes", "no"), ("yes", "no"), ("yes", "yes")]


@pytest.fixture
def asked(tmp_path):
    """Five pairs of three videos; the last has one answer to both, and one question stands alone."""
    requests, references = [], []
    for number, answers in enumerate(ANSWERS):
        for side, answer in zip("ab", answers, strict=True):
            case = f"q{number}{side}"
            requests.append(request_row(case, videoID=f"v{number % 3}", question="Is there any clip in this image?"))
            references.append(reference_row(case, answer=answer, pair=f"p{number}"))
    requests.append(request_row("alone", videoID="v0"))
    references.append(reference_row("alone", answer="yes", pair="p9"))
    return write_json(tmp_path / "requests.json", requests), write_json(tmp_path / "references.json", references)


def shares(asked, tmp_path, said):
    answers = write_json(tmp_path / "answers.json", [response_row(case, text) for case, text in said.items()])
    result = score(*asked, answers, model="m", judges=["exact"])
    rows = result.summary.filter(level="pair", estimand="rows")
    return dict(rows.select("name", "accuracy").iter_rows()), rows, result


def test_a_pair_counts_as_seen_where_both_answers_are_right(asked, tmp_path):
    said = {
        "q0a": "yes",
        "q0b": "no",
        "q1a": "yes",
        "q1b": "yes",
        "q2a": "no",
        "q2b": "yes",
        "q3a": "yes",
        "q3b": "yes",
    }
    told, rows, result = shares(asked, tmp_path, said | {"q4a": "yes", "q4b": "yes", "alone": "yes"})
    stays = told.pop("both right where the answer stays")
    assert told == {"neither right": 0.25, "one right": 0.5, "both right": 0.25, "one answer to both": 0.5}
    assert stays == 1
    assert rows["count"].to_list() == [4, 4, 4, 4, 1]
    assert rows["videos"].to_list() == [3, 3, 3, 3, 1]
    assert "pairs that differ in the image alone" in result.screen()


def test_whoever_reads_the_words_alone_is_right_once_in_every_pair(asked, tmp_path):
    floors = trivial_baselines(*asked, train_requests=asked[0], train_references=asked[1], seed=0)
    assert floors.answers
    cases = [f"q{number}{side}" for number in range(4) for side in "ab"]
    by_words = [said for said in floors.answers.values() if len({said[case] for case in cases}) == 1]
    assert len(by_words) > 2, "one wording, one answer"
    for answers in by_words:
        told, _, _ = shares(asked, tmp_path, answers)
        assert (told["both right"], told["one answer to both"]) == (0, 1)
    for text in ("yes", "no"):
        told, _, _ = shares(asked, tmp_path, dict.fromkeys(pl.read_json(asked[1])["qID"], text))
        assert (told["both right"], told["one right"], told["one answer to both"]) == (0, 1, 1)


def test_an_answer_that_never_came_is_no_sight(asked, tmp_path):
    told, _, _ = shares(asked, tmp_path, {"q0a": "yes", "q0b": "no", "q1a": "no"})
    assert told["both right"] == 0.25
    assert np.isclose(told["neither right"], 0.5)


def test_without_pairs_nothing_is_said_of_them(tmp_path):
    files = (
        write_json(tmp_path / "a.json", [request_row("q1")]),
        write_json(tmp_path / "b.json", [reference_row("q1")]),
    )
    assert shares(files, tmp_path, {"q1": "yes"})[1].is_empty()
