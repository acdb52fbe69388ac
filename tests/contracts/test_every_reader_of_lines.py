"""A line of a JSON Lines file ends where the file says, whatever letters its texts have."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from surgvalid.asking.lines import json_lines
from surgvalid.errors import FileUnreadable
from surgvalid.evaluation.predictions.plain_files import read_json
from surgvalid.models import open_model
from surgvalid.report.review.items import material_in
from surgvalid.results.reading import FolderReader
from surgvalid.schema.rows import read_rows

SEPARATORS = "\u2028\u2029\x85\x0b\x0c\x1c\x1d\x1e\r\n\ufeff"
"""What some readers of text take for the end of a line."""
TEXTS = st.lists(st.text(st.sampled_from(SEPARATORS + 'aä"\\,{}'), min_size=1, max_size=8), min_size=1, max_size=4)


def written(path: Path, texts: list[str]) -> Path:
    rows = [{"id": f"q{number}", "answer": text} for number, text in enumerate(texts)]
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8", newline="")
    return path


def of_a_model(path: Path, texts: list[str]) -> list[str]:
    from model_prompts import asked, questions

    outcomes, _ = asked(open_model(f"file:{path}"), questions(len(texts)))
    return [outcomes[f"q{number}"].text for number in range(len(texts))]


READERS: dict[str, Callable[[Path, list[str]], list[str]]] = {
    "rows": lambda path, _: [row["answer"] for row in read_rows(path)],
    "lines of stores": lambda path, _: [str(row["answer"]) for _, row in json_lines(path, [])],
    "predictions": lambda path, _: [row["answer"] for row in read_json(path)],
    "folders": lambda path, _: [row["answer"] for row in FolderReader(path.parent).lines(path)],
    "answers of a model": of_a_model,
}


@pytest.mark.parametrize("name", READERS)
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS)
def test_texts_come_back_whole(name: str, texts: list[str], tmp_path: Path) -> None:
    assert READERS[name](written(tmp_path / "rows.jsonl", texts), texts) == texts


def review(folder: Path, questions: list[str]) -> Path:
    """A folder of questions with their proofs, the text of each in all of its files."""
    place = folder / "public" / "frame"
    place.mkdir(parents=True, exist_ok=True)
    rows = list(enumerate(questions))
    requests = [{"qID": f"q{i}", "videoID": "v", "question": text, "start_time": 0, "end_time": 9} for i, text in rows]
    references = [{"qID": f"q{i}", "answer": text, "format": "exact"} for i, text in rows]
    proofs = [{"qID": f"q{i}", "proof": {"seconds": [3], "events": [], "instances": [text]}} for i, text in rows]
    (place / "requests.json").write_text(json.dumps(requests), encoding="utf-8")
    (place / "references.json").write_text(json.dumps(references), encoding="utf-8")
    lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in proofs)
    (place / "proofs.jsonl").write_text(lines, encoding="utf-8", newline="")
    return place / "proofs.jsonl"


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=TEXTS)
def test_every_question_with_a_proof_is_under_review(texts: list[str], tmp_path: Path) -> None:
    review(tmp_path, texts)
    items = material_in(tmp_path).items
    assert [set(item.instances) for item in items] == [{text} for text in texts]


def test_a_damaged_proof_is_named_with_its_line(tmp_path: Path) -> None:
    path = review(tmp_path, ["a", "b"])
    path.write_text(path.read_text(encoding="utf-8") + '{"qID": "q2", "pro\n', encoding="utf-8")
    with pytest.raises(FileUnreadable, match=r"proofs.jsonl: line 3 column 15"):
        material_in(tmp_path)
    path.write_text('{"qID": "q0"}\n', encoding="utf-8")
    with pytest.raises(FileUnreadable, match=r"proofs.jsonl: row 1 is no proof of a question"):
        material_in(tmp_path)
