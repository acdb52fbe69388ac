"""The toolkit's decision for every reference, in its order.

No response: wrong. Otherwise the detector looks at the text, then the latency counts, then the format
is built, the reference is parsed, the response is parsed, and the two are compared or judged.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from surgvalid.errors import Misuse, OfficialAborts
from surgvalid.judges import JudgeCase
from surgvalid.schema.questions.formats import AnswerFormat, Rules, Unreadable, build_format
from surgvalid.schema.questions.questions import REQUEST_KEYS
from surgvalid.schema.questions.taxonomy import Capability
from surgvalid.schema.rows import Row
from surgvalid.scoring.injection import official_signal

_OF_REFERENCES = frozenset(("qID", "primary", "format", "answer"))
_NEEDED = frozenset(("qID", "content"))
_ALLOWED = _NEEDED | {"latency"}
_NESTS, _LISTS, _NUMBERS = (list, dict), (list, tuple, str, dict), (int, float)
JudgeAll = Callable[[Sequence[JudgeCase]], Sequence[bool]]
"""Asks the judges about several cases at once; True where a majority says right."""


class OfficialResults(NamedTuple):
    """The columns of `results.csv`; the values are as they came from the files."""

    qID: list[Any]
    video: list[Any]
    ood: list[Any]
    clinical: list[Any]
    primary: list[str]
    answer_format: list[Any]
    latency: list[Any]
    timed_out: list[bool]
    correctness: list[bool]

    @property
    def groups(self) -> list[str]:
        """The group of each question's capability."""
        known = {name: Capability(name).group.value for name in set(self.primary)}
        return list(map(known.__getitem__, self.primary))


def decide(
    requests: Sequence[Row],
    references: Sequence[Row],
    responses: Sequence[Row],
    *,
    rules: Rules,
    limit_s: float | None,
    judge_all: JudgeAll | None,
) -> OfficialResults:
    """The results of all references, in order of first occurrence; without judges free text is wrong.

    Raises:
        OfficialAborts: The toolkit would stop with an exception; every cause is listed.
    """
    run = _Run(rules, limit_s, has_judges=judge_all is not None)
    asked, known, answered = run.load(requests, references, responses)
    run.stop_if_aborted()
    results = run.results(asked, known, answered)
    if not known:
        run.abort("references", "there is not a single reference (KeyError 'correctness' in the toolkit)")
    run.stop_if_aborted()
    verdicts = judge_all([case for _, case in run.to_judge]) if judge_all and run.to_judge else []
    for (index, _), verdict in zip(run.to_judge, verdicts, strict=True):
        results.correctness[index] = verdict
    return results


class _Run:
    """The state of one evaluation: causes of an abort, and the cases left for the judges."""

    def __init__(self, rules: Rules, limit_s: float | None, *, has_judges: bool) -> None:
        self.rules, self.limit_s, self.has_judges = rules, limit_s, has_judges
        self.causes: list[str] = []
        self.to_judge: list[tuple[int, JudgeCase]] = []
        self._formats: dict[tuple[str, str], AnswerFormat] = {}
        self._known: dict[Any, bool] = {}
        """Whether an answer to a reference of a closed format is right: the same ones come by the thousand."""

    def abort(self, where: object, cause: str) -> None:
        self.causes.append(f"[{where}] {cause}")

    def stop_if_aborted(self) -> None:
        if self.causes:
            raise OfficialAborts("the official toolkit stops on this input", self.causes)

    # --- loading

    def load(
        self, requests: Sequence[Row], references: Sequence[Row], responses: Sequence[Row]
    ) -> tuple[dict[Any, Row], dict[Any, Row], dict[Any, Row]]:
        """Rows by identifier: later requests and references replace earlier ones, in their place."""
        asked: dict[Any, Row] = {}
        for row in requests:
            if row.keys() != REQUEST_KEYS:
                self.abort(row.get("qID"), f"a request must have exactly the keys {', '.join(sorted(REQUEST_KEYS))}")
            elif self._is_key(row["qID"]):
                asked[row["qID"]] = row
        known = {row["qID"]: row for row in references if self._is_reference(row)}
        answered = self._responses(responses)
        for qid in () if known.keys() <= asked.keys() else known:
            if qid not in asked:
                self.abort(qid, "the reference has no matching request")
        return asked, known, answered

    def _responses(self, responses: Sequence[Row]) -> dict[Any, Row]:
        answered: dict[Any, Row] = {}
        for row in responses:
            if not _NEEDED <= row.keys() <= _ALLOWED:
                self.abort(row.get("qID"), "a response must have qID, content and nothing but latency besides")
            elif self._is_key(row["qID"]):
                if row["qID"] in answered:
                    self.abort(row["qID"], "the question is answered twice")
                answered[row["qID"]] = row
        return answered

    def _is_key(self, identifier: Any) -> bool:
        if isinstance(identifier, _NESTS):
            self.abort(identifier, "this value cannot be an identifier")
            return False
        return True

    def _is_reference(self, row: Row) -> bool:
        if not row.keys() >= _OF_REFERENCES:
            missing = [key for key in ("qID", "primary", "format", "answer") if key not in row]
            self.abort(row.get("qID"), f"the reference lacks {', '.join(missing)}")
        elif not isinstance(row.get("secondaries", ()), _LISTS):
            self.abort(row["qID"], "secondaries must be a list")
        elif _capability(row["primary"]) is None:
            self.abort(row["qID"], f"unknown capability {row['primary']!r}")
        elif isinstance(row["format"], _NESTS):
            self.abort(row["qID"], f"the format must be a name, got {row['format']!r}")
        else:
            return self._is_key(row["qID"])
        return False

    # --- deciding

    def results(self, asked: dict[Any, Row], known: dict[Any, Row], answered: dict[Any, Row]) -> OfficialResults:
        """The result of every question; judged ones are wrong until the judges have decided."""
        latencies, late, correct = [], [], []
        for index, (qid, reference) in enumerate(known.items()):
            response, latency, is_late, is_correct = answered.get(qid), 0.0, False, False
            if response is not None and self._is_usable(response):
                latency = response.get("latency", 0.0)
                is_late = self.limit_s is not None and latency > self.limit_s
                is_correct = not is_late and self._is_correct(index, reference, asked[qid], response)
            latencies.append(latency)
            late.append(is_late)
            correct.append(is_correct)
        videos = [asked[qid]["videoID"] for qid in known]
        for video in videos:
            self._is_key(video)
        rows, capabilities = known.values(), (_capability(row["primary"]) for row in known.values())
        return OfficialResults(
            qID=list(known),
            video=videos,
            ood=[row.get("ood", False) for row in rows],
            clinical=[row.get("clinical", False) for row in rows],
            primary=["" if capability is None else capability.value for capability in capabilities],
            answer_format=[row["format"] for row in rows],
            latency=latencies,
            timed_out=late,
            correctness=correct,
        )

    def _is_usable(self, response: Row) -> bool:
        content, latency = response["content"], response.get("latency", 0.0)
        if not isinstance(content, str):
            self.abort(response["qID"], f"the content is {type(content).__name__}, not text")
        elif signal := official_signal(content):
            self.abort(response["qID"], f"the response contains {signal!r}, which the toolkit takes for an attack")
        elif not isinstance(latency, _NUMBERS):
            self.abort(response["qID"], f"the latency is {latency!r}, not a number")
        else:
            return True
        return False

    def _is_correct(self, index: int, reference: Row, request: Row, response: Row) -> bool:
        name, parameters, answer = reference["format"], reference.get("format_kwargs", {}), reference["answer"]
        key = (type(name), name, repr(parameters) if parameters else "", str(answer), response["content"])
        if (known := self._known.get(key)) is not None and type(answer) is str:
            return known
        try:
            answer_format = self._format(name, parameters)
            is_correct = self._agrees(index, answer_format, reference, request, response)
        except Misuse as error:
            self.abort(reference["qID"], str(error))
        except (TypeError, AttributeError, OverflowError, re.error) as error:
            self.abort(reference["qID"], f"{type(error).__name__}: {error}")
        else:
            if not answer_format.judged and type(answer) is str:
                self._known[key] = is_correct
            return is_correct
        return False

    def _format(self, name: Any, parameters: Any) -> AnswerFormat:
        """The format of a reference; formats with the same parameters are built once."""
        if not isinstance(parameters, dict):
            raise TypeError(f"format_kwargs must be an object, got {parameters!r}")
        key = (repr(name), repr(parameters))
        if key not in self._formats:
            self._formats[key] = build_format(name, parameters, rules=self.rules, check_kinds=False)
        return self._formats[key]

    def _agrees(self, index: int, answer_format: AnswerFormat, reference: Row, request: Row, response: Row) -> bool:
        try:
            expected, given = answer_format.parse(reference["answer"]), answer_format.parse(response["content"])
        except Unreadable:
            return False
        if not answer_format.judged:
            return answer_format.compare(expected, given)
        if self.has_judges:
            self.to_judge.append((index, self._judge_case(reference, request, response)))
        return False

    def _judge_case(self, reference: Row, request: Row, response: Row) -> JudgeCase:
        """The judges receive reference and candidate as they stand in the files, white space included."""
        times = [request["start_time"], request["end_time"]]
        if not all(isinstance(time, int | float) for time in times):
            raise TypeError(f"a prompt for the judges needs times that are numbers, got {times[0]!r} and {times[1]!r}")
        return JudgeCase(
            case=str(reference["qID"]),
            procedure=str(request["procedure_type"]),
            start_s=float(times[0]),
            end_s=float(times[1]),
            question=str(request["question"]),
            reference=reference["answer"],
            candidate=response["content"],
        )


@lru_cache(maxsize=256)
def _named(name: str) -> Capability | None:
    return Capability.named(name)


def _capability(name: Any) -> Capability | None:
    return _named(name) if type(name) is str else Capability.named(name)
