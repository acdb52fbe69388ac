"""Questions made here are read by the official toolkit as they were meant, and perfect answers score 1 in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from bench.official_toolkit import import_focus

from small_truth import small_truth
from surgvalid import make_questions
from surgvalid.questions.benchmark import Benchmark
from surgvalid.schema.questions.formats import JUDGED

focus = import_focus()
from focus.data.base_dataset import FocusDataset  # noqa: E402
from focus.evaluation.evaluator import Evaluator  # noqa: E402
from focus.evaluation.judges import Judge  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore:Unable to convert")


class EqualText(Judge):  # type: ignore[misc]
    def judge(self, request: Any, reference: str, candidate: str) -> bool:
        return reference == candidate


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Benchmark, Path]:
    procedures = [small_truth(41, n, (5, 6)) for n in range(4)]
    benchmark = make_questions(procedures, per_video=40, test_share=0.5, seed=2)
    folder = tmp_path_factory.mktemp("made")
    benchmark.to_dir(folder)
    return benchmark, folder


def parts(made: tuple[Benchmark, Path]) -> list[tuple[Path, dict[str, Any]]]:
    benchmark, folder = made
    return [(folder / split / track, {q.request.case: q for q in part}) for split, track, part in benchmark.parts()]


@pytest.mark.long
def test_the_official_reader_of_json_reads_every_question_as_it_was_meant(made: tuple[Benchmark, Path]) -> None:
    for place, questions in parts(made):
        requests = focus.load_requests(place / "requests.json")
        references = focus.load_references(place / "references.json")
        assert [request.qID for request in requests] == [reference.qID for reference in references] == list(questions)
        for request, reference in zip(requests, references, strict=True):
            own = questions[request.qID]
            assert (request.videoID, request.question) == (own.request.video, own.request.question)
            assert (request.start_time, request.end_time) == (own.request.start_s, own.request.end_s)
            assert (reference.primary.value, reference.answer) == (own.reference.capability.value, own.reference.answer)
            assert (bool(reference.ood), bool(reference.clinical)) == (bool(own.reference.ood), own.reference.clinical)
            reference.format.verify(reference.answer)  # raises where the answer breaks the format


def test_the_official_reader_of_data_sets_reads_every_row(made: tuple[Benchmark, Path]) -> None:
    for place, questions in parts(made):
        for row in pl.read_parquet(place / "questions.parquet").iter_rows(named=True):
            own = questions[row["id"]]
            request, reference = FocusDataset._parse_row(row)
            assert (request.start_time, request.end_time) == (own.request.start_s, own.request.end_s)
            assert {c.value for c in reference.secondaries} == {c.value for c in own.reference.secondaries}
            known = {k: v for k, v in own.reference.parameters.items() if k != "valid_names"}
            assert reference.format_kwargs == pytest.approx(known)
            reference.format.verify(reference.answer)


def test_perfect_answers_are_all_right_in_the_official_evaluation(made: tuple[Benchmark, Path], tmp_path: Path) -> None:
    for place, questions in parts(made):
        answers = [{"qID": q, "content": own.reference.answer, "latency": 0.1} for q, own in questions.items()]
        (tmp_path / "responses.json").write_text(json.dumps(answers, ensure_ascii=False))
        items = (
            focus.load_requests(place / "requests.json"),
            focus.load_references(place / "references.json"),
            focus.load_responses(tmp_path / "responses.json"),
        )
        Evaluator(judges=[EqualText()], n_boot=5).run(*items, output_dir=tmp_path / "out")
        results = pl.read_csv(tmp_path / "out" / "results.csv")
        assert results["correctness"].cast(pl.Float64).mean() == 1.0
        assert results.height == len(questions)


def test_judged_formats_are_the_official_ones() -> None:
    assert set(JUDGED) == {"open_ended", "multiple_choice", "matching"}
