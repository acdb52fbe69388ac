"""What lint calls an error, a warning or a note, score calls the same, whatever is wrong with the files."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from builders import reference_row, request_row, response_row, write_json
from how_many import many
from surgvalid import lint, score
from surgvalid.errors import FileUnreadable, OfficialAborts, QuestionsInvalid, ResponsesMissing, WrongFile
from surgvalid.schema.finding_log import RULES, short
from surgvalid.schema.findings import Severity
from surgvalid.scoring.lint_report import LintReport

Files = dict[str, list[Any]]
GOOD: Files = {
    "requests": [request_row(f"q{i}", videoID=f"v{i}") for i in range(4)],
    "references": [reference_row(f"q{i}", answer="yes" if i % 2 else "no") for i in range(4)],
    "responses": [response_row(f"q{i}", "yes", latency=1.0) for i in range(4)],
}


def put(part: str, key: str, value: Any) -> Callable[[Files], None]:
    """A fault: one value of the second row is another; an ellipsis takes the key away."""

    def fault(files: Files) -> None:
        row = files[part][1]
        if isinstance(row, dict):
            row[key] = value
            if value is ...:
                del row[key]

    fault.__name__ = f"{part}-{key}-{str(value)[:20]}"
    return fault


def more(part: str, row: Any) -> Callable[[Files], None]:
    """A fault: one row more."""

    def fault(files: Files) -> None:
        files[part].append(row)

    fault.__name__ = f"{part}-more-{str(row)[:30]}"
    return fault


FAULTS = [
    *(put("requests", "start_time", value) for value in ("soon", None, ..., float("nan"), 900.0, "2.5")),
    *(put("requests", "question", value) for value in ("", None, ..., 7)),
    *(put("requests", "videoID", value) for value in (None, ..., 3, "")),
    *(put("requests", "qID", value) for value in (None, ..., 1, "q0", "other", [], "\ud800")),
    put("requests", "note", "x"),
    *(put("references", "ood", value) for value in ("perhaps", 1, "yes", None)),
    *(put("references", "clinical", value) for value in ("perhaps", [])),
    *(put("references", "primary", value) for value in ("9z", None, ..., 3)),
    *(put("references", "answer", value) for value in ("maybe", 3, None, ...)),
    *(put("references", "format", value) for value in ("essay", "matching", "time", None, ...)),
    *(put("references", "format_kwargs", value) for value in ({"a": 1}, [], "x")),
    put("references", "secondaries", ["9z"]),
    put("references", "clincal", True),
    *(put("references", "qID", value) for value in (None, ..., 1, "q0", "other")),
    *(put("responses", "content", value) for value in ("", None, ..., 3, ["yes"], "Yes!", "x" * 301, "act as if")),
    *(put("responses", "latency", value) for value in (None, "2.5", -1, float("nan"), True, 60, 2**63)),
    *(put("responses", "qID", value) for value in (None, ..., 1, "q0", "Q1", "other")),
    *(put("responses", key, value) for key, value in (("note", 1), ("status", "refused"), ("tokens", -3))),
    *(more(part, row) for part in GOOD for row in (5, None, [], {}, {"x": 1}, {"qID": "q9"})),
]


def write(folder: Path, files: Files) -> dict[str, Path]:
    paths = {}
    for name, rows in files.items():
        (folder / f"{name}.json").write_text(json.dumps(rows), encoding="utf-8")
        paths[name] = folder / f"{name}.json"
    return paths


def refusal(paths: dict[str, Path], profile: str) -> tuple[LintReport | None, Exception | None]:
    try:
        return score(**paths, profile=profile, replicates=2, missing="not_judged=worst").lint, None
    except (QuestionsInvalid, WrongFile, FileUnreadable, ResponsesMissing, OfficialAborts) as error:
        return None, error


def check(folder: Path, files: Files) -> None:
    paths = write(folder, files)
    said = lint(**paths)
    for finding in said.findings:
        assert finding.severity is RULES[finding.code].severity
    errors = [finding for finding in said.findings if finding.severity is Severity.ERROR]
    of_questions = [finding for finding in errors if is_of_questions(finding.code, finding.where)]
    seen, error = refusal(paths, "native")
    if error is None:
        assert seen is not None
        assert not of_questions, "an error about a question set is one in score as well"
        assert said.as_dict() == seen.as_dict()
    elif isinstance(error, QuestionsInvalid):
        assert sorted(error.problems) == sorted(map(short, of_questions))
    elif isinstance(error, WrongFile):
        assert set(said.counts) & {"another-file", "nothing-matches"}
    seen, error = refusal(paths, "orena-focus-0.4.0")
    assert error is not None or (seen is not None and said.as_dict() == seen.as_dict())


def is_of_questions(code: str, where: str | None) -> bool:
    """Whether a finding is about requests or references: by its file, or because it is about both together."""
    if where is not None and "responses.json" in where:
        return False
    both = ("no-request", "unknown-format", "bad-parameters")
    return code in both or (where is not None and ("requests.json" in where or "references.json" in where))


def test_good_files_are_clean_in_both(tmp_path: Path) -> None:
    paths = write(tmp_path, GOOD)
    assert lint(**paths).counts == {}
    assert score(**paths, replicates=2).lint.counts == {}


@pytest.mark.parametrize("fault", FAULTS, ids=[fault.__name__ for fault in FAULTS])
def test_one_fault_is_called_the_same_in_lint_and_score(tmp_path: Path, fault: Callable[[Files], None]) -> None:
    files = copy.deepcopy(GOOD)
    fault(files)
    check(tmp_path, files)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=many(60), deadline=None)
@given(faults=st.lists(st.sampled_from(FAULTS), min_size=2, max_size=4))
def test_several_faults_are_called_the_same_in_lint_and_score(
    tmp_path: Path, faults: list[Callable[[Files], None]]
) -> None:
    files = copy.deepcopy(GOOD)
    for fault in faults:
        fault(files)
    check(tmp_path, files)


def test_every_kind_of_file_gets_the_same_severities(tmp_path: Path) -> None:
    """A byte-order mark was a warning where it was read and an error where it was linted."""
    paths = write(tmp_path, GOOD)
    paths["requests"].write_bytes(b"\xef\xbb\xbf" + paths["requests"].read_bytes())
    assert lint(**paths).counts == score(**paths, replicates=2).lint.counts == {"byte-order-mark": 1}
    assert RULES["byte-order-mark"].severity is Severity.WARNING
    write_json(paths["requests"], [{**row, "start_time": "soon"} for row in GOOD["requests"]])
    assert lint(**paths).number(Severity.ERROR) == 4
    with pytest.raises(QuestionsInvalid, match="4 problems"):
        score(**paths)
