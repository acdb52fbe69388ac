import math
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import data_set_row, reference_row, request_row, response_row
from strategies import json_values
from surgvalid.schema.outcomes import Status
from surgvalid.schema.questions.question_rows import reference_from_row, request_from_row, response_from_row
from surgvalid.schema.questions.questions import DATA_SET_COLUMNS, Reference, Request, Response
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import HugeNumber, read_rows


class Complaints(list[tuple[str, str]]):
    def __call__(self, code: str, text: str) -> None:
        self.append((code, text))

    @property
    def codes(self) -> list[str]:
        return [code for code, _ in self]


def request_of(row: dict[str, Any], namespace: str | None = None) -> tuple[Request | None, Complaints]:
    said = Complaints()
    return request_from_row(row, namespace, said), said


def reference_of(row: dict[str, Any], namespace: str | None = None) -> tuple[Reference | None, Complaints]:
    said = Complaints()
    return reference_from_row(row, namespace, said), said


def response_of(row: dict[str, Any], namespace: str | None = None) -> tuple[Response | None, Complaints]:
    said = Complaints()
    return response_from_row(row, namespace, said), said


def test_the_official_layout_is_read_without_complaint_and_written_back() -> None:
    row = request_row("q1")
    request, said = request_of(row)
    assert request == Request("q1", "v1", 0.0, 300.0, "cholecystectomy", "What is seen?")
    assert request.as_row() == row
    assert request.window_s == 300.0
    row = reference_row(
        "q1", "time", format_kwargs={"threshold_seconds": 2}, secondaries=["1a"], ood=True, clinical=True
    )
    reference, more = reference_of(row)
    assert reference is not None
    assert reference.as_row() == {**row, "primary": "object_identification", "secondaries": ["object_identification"]}
    response, last = response_of(response_row("q1", "yes", latency=2))
    assert response is not None
    assert response.as_row() == {"qID": "q1", "content": "yes", "latency": 2.0}
    assert said == more == last == []


def test_the_fourteen_columns_of_a_data_set_are_read_from_parquet(tmp_path: Path) -> None:
    rows = [data_set_row(7), data_set_row(8, answer_format="binary", answer="yes", ood=True, clinical_relevance=True)]
    assert set(rows[0]) == set(DATA_SET_COLUMNS)
    pl.DataFrame(rows).write_parquet(tmp_path / "test.parquet")
    first, second = read_rows(tmp_path / "test.parquet")
    request, said = request_of(first)
    assert request == Request("7", "v1", 0, 60, "Sigmoid Resection", "When?")
    reference, more = reference_of(first)
    assert reference is not None
    assert reference.parameters == {"threshold_seconds": 1.6666666666666667}
    assert reference.capability is Capability.TEMPORAL_LOCALIZATION
    assert reference.secondaries == (Capability.OBJECT_IDENTIFICATION,)
    assert reference.strata == {"track": "segment", "generation": "automatic"}
    other, _ = reference_of(second)
    assert other is not None
    assert (other.ood, other.clinical, other.parameters) == (True, True, {})
    assert said == more == []


@pytest.mark.parametrize(
    ("end", "tolerance_s"),
    [("00:00:00", 1.0), ("00:01:00", 1.6666666666666667), ("00:05:00", 4.333333333333334), ("01:40:00", 5.0)],
)
def test_time_questions_of_a_data_set_get_the_tolerance_of_their_window(end: str, tolerance_s: float) -> None:
    reference, _ = reference_of(data_set_row(timestamp_end=end))
    assert reference is not None
    assert reference.parameters == {"threshold_seconds": tolerance_s}


def test_a_namespace_keeps_cases_and_videos_apart() -> None:
    request, _ = request_of(request_row("q1"), "heico")
    reference, _ = reference_of(reference_row("q1"), "heico")
    response, _ = response_of(response_row("q1"), "heico")
    assert request is not None
    assert reference is not None
    assert response is not None
    assert request.case == reference.case == response.case == "heico/q1"
    assert request.video == "heico/v1"


@pytest.mark.parametrize("raw", [None, "", "  ", [], {}, ["q1"], [[["deep"]]]])
def test_a_row_without_a_usable_identifier_is_named(raw: object) -> None:
    for read in (request_of, reference_of, response_of):
        item, said = read({**request_row(raw), **reference_row(raw), **response_row(raw)})  # type: ignore[operator]
        assert item is None
        assert "no-id" in said.codes


@pytest.mark.parametrize(
    ("raw", "text"), [(7, "7"), (7.5, "7.5"), (True, "True"), (HugeNumber("9" * 5000), "9" * 5000)]
)
def test_an_identifier_that_is_no_text_is_read_as_text_and_said(raw: object, text: str) -> None:
    response, said = response_of(response_row(raw))
    assert response is not None
    assert response.case == text
    assert said.codes == ["id-not-text"]
    assert len(said[0][1]) < 250


@pytest.mark.parametrize(
    ("content", "read", "codes"),
    [
        ("yes", "yes", []), ("", "", []), (None, None, ["no-content"]), (["yes"], None, ["nested-content"]),
        ({"text": "yes"}, None, ["nested-content"]), (3, "3", ["content-not-text"]),
        (True, "True", ["content-not-text"]),
        (float("nan"), None, ["no-content"]), (HugeNumber("1" * 5000), "1" * 5000, ["content-not-text"]),
    ],
)  # fmt: skip
def test_odd_content_is_kept_or_named(content: object, read: str | None, codes: list[str]) -> None:
    response, said = response_of(response_row("q1", content))
    assert response is not None
    assert response.content == read
    assert said.codes == codes


def test_absent_content_counts_as_unanswered() -> None:
    response, said = response_of({"qID": "q1"})
    assert response == Response("q1", None)
    assert said.codes == ["no-content"]


@pytest.mark.parametrize(
    ("latency", "seconds", "codes"),
    [
        (0, 0.0, []), (2.5, 2.5, []), ("2.5", 2.5, []), (float("inf"), math.inf, []), (10**400, math.inf, []),
        (HugeNumber("9" * 5000), math.inf, []),
        (float("nan"), math.nan, ["bad-latency"]), (-1, math.nan, ["bad-latency"]), ("nan", math.nan, ["bad-latency"]),
        (-(10**400), math.nan, ["bad-latency"]),
        (None, math.nan, ["latency-not-a-number"]), (True, math.nan, ["latency-not-a-number"]),
        ("soon", math.nan, ["latency-not-a-number"]), ([1], math.nan, ["latency-not-a-number"]),
    ],
)  # fmt: skip
def test_a_latency_is_a_time_or_named(latency: object, seconds: float, codes: list[str]) -> None:
    response, said = response_of(response_row(latency=latency))
    assert response is not None
    assert response.latency_s == seconds or (math.isnan(seconds) and math.isnan(response.latency_s))
    assert said.codes == codes


def test_surplus_keys_are_named_where_the_official_reader_refuses_them() -> None:
    assert response_of(response_row(note="x"))[1] == [("extra-keys", "unexpected keys 'note' (ignored)")]
    assert request_of(request_row(note="x"))[1].codes == ["extra-request-keys"]
    assert reference_of(reference_row(zzz="x"))[1] == [("extra-reference-keys", "unexpected keys 'zzz' (ignored)")]
    (said,) = reference_of(reference_row(clincal=True))[1]
    assert said == ("extra-reference-keys", "unexpected keys 'clincal' (ignored); did you mean 'clinical'?")
    assert reference_of({**reference_row(), "center": "A"})[1] == []
    assert request_of(data_set_row(note="x"))[1] == []


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"videoID": None}, "no-video"), ({"question": " "}, "no-question"), ({"question": None}, "no-question"),
        ({"start_time": 400.0}, "window-reversed"), ({"start_time": None}, "bad-time"),
        ({"end_time": "soon"}, "bad-time"),
        ({"end_time": float("nan")}, "bad-time"), ({"end_time": "nan"}, "bad-time"),
        ({"end_time": 10**400}, "bad-time"),
        ({"end_time": "inf"}, "bad-time"), ({"start_time": True}, "bad-time"), ({"end_time": "1:2:3:4"}, "bad-time"),
        ({"end_time": "²:00:00"}, "bad-time"), ({"end_time": "9" * 5000 + ":00:00"}, "bad-time"),
    ],
)  # fmt: skip
def test_odd_requests_are_read_and_named(changes: dict[str, Any], code: str) -> None:
    request, said = request_of(request_row(**changes))
    assert request is not None
    assert math.isfinite(request.window_s)
    assert code in said.codes


@pytest.mark.parametrize(("text", "seconds"), [("01:00:01", 3601), ("00:00:00.5", 0.5), ("12.5", 12.5), ("7", 7)])
def test_times_may_be_written_as_text(text: str, seconds: float) -> None:
    request, said = request_of(request_row(end_time=text))
    assert request is not None
    assert request.end_s == seconds
    assert said == []


@pytest.mark.parametrize(
    ("changes", "code", "is_read"),
    [
        ({"primary": "7x"}, "unknown-capability", False), ({"primary": None}, "unknown-capability", False),
        ({"primary": ["1a"]}, "unknown-capability", False), ({"answer": None}, "answer-not-text", False),
        ({"answer": 3}, "answer-not-text", False), ({"format_kwargs": "five"}, "bad-parameters", True),
        ({"format_kwargs": [1]}, "bad-parameters", True), ({"ood": "perhaps"}, "bad-flag", True),
        ({"clinical": 7}, "bad-flag", True), ({"secondaries": ["1a", "9z"]}, "unknown-secondary", True),
    ],
)  # fmt: skip
def test_odd_references_are_named(changes: dict[str, Any], code: str, is_read: bool) -> None:
    reference, said = reference_of({**reference_row(), **changes})
    assert (reference is not None) == is_read
    assert said.codes == [code]


def test_a_misspelt_capability_gets_a_suggestion() -> None:
    assert (
        "did you mean 'temporal_localization'" in reference_of(reference_row(primary="temporal_localisation"))[1][0][1]
    )


def test_flags_parameters_and_secondaries_may_be_spelt_as_csv_does() -> None:
    row = reference_row(ood="True", clinical="0", format_kwargs='{"threshold_pp": 2}', secondaries="['1a'; '2a']")
    reference, said = reference_of(row)
    assert reference is not None
    assert (reference.ood, reference.clinical) == (True, False)
    assert reference.parameters == {"threshold_pp": 2}
    assert [c.code for c in reference.secondaries] == ["1a", "2a"]
    assert said == []


def test_an_unstated_ood_flag_stays_unstated() -> None:
    reference, _ = reference_of(reference_row())
    assert reference is not None
    assert reference.ood is None
    assert reference.as_row()["ood"] is False


keys = st.sampled_from(
    [*DATA_SET_COLUMNS, *request_row(), *reference_row(), "format_kwargs", "secondaries", "content", "latency"]
)


def test_a_long_unknown_capability_is_cut_in_the_message() -> None:
    _, said = reference_of({**reference_row(), "primary": "x" * 5000})  # type: ignore[operator]
    assert all(len(text) < 600 for _, text in said)
    assert said


@given(st.dictionaries(keys, json_values, max_size=8))
def test_no_row_of_any_shape_crashes_a_reader(row: dict[str, Any]) -> None:
    for read in (request_of, reference_of, response_of):
        item, said = read(row)  # type: ignore[operator]
        assert item is not None or said
        assert all(len(text) < 600 for _, text in said)


def test_a_response_may_say_what_became_of_the_question() -> None:
    row = response_row(content=None, latency=1.5, status="refused", detail="policy", cost=0.5, tokens=12, attempts=2)
    response, said = response_of(row)
    assert response == Response("q1", None, row["latency"], Status.REFUSED, "policy", 0.5, 12, 2)
    assert said.codes == ["status-keys"]
    assert response.as_record() == row
    assert set(response.as_row()) == {"qID", "content", "latency"}


def test_a_response_without_a_status_is_what_it_was() -> None:
    response, said = response_of(response_row(latency=0.5))
    assert response is not None
    assert response.status is None
    assert response.as_record() == response.as_row() == response_row(latency=0.5)
    assert said == []


@pytest.mark.parametrize("status", ["shy", "not_judged", "judge_abstained", 3, ["refused"]])
def test_only_what_can_be_said_of_a_response_is_its_status(status: object) -> None:
    response, said = response_of(response_row(status=status))
    assert response is not None
    assert response.status is None
    assert said.codes == ["bad-status", "status-keys"]


@pytest.mark.parametrize("amount", [-1, "many", True, float("inf"), [3]])
def test_an_amount_is_a_number_of_at_least_0(amount: object) -> None:
    response, said = response_of(response_row(tokens=amount))
    assert response is not None
    assert response.tokens is None
    assert said.codes == ["bad-amount", "status-keys"]
