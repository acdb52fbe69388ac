"""The methods section, ready for a paper: what was done, put together from what every part says about itself."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from surgvalid.report.inputs import ReportInputs, StoredResult, competitions
from surgvalid.report.section import Prose, Section
from surgvalid.report.words import count_of, names_of, plain, terms_in_words
from surgvalid.results.manifest import version_of
from surgvalid.results.tables import RESULT_FILES

_PARAGRAPHS = ("rank-tasks", "failures", "evaluate", *RESULT_FILES)
_SENTENCE = re.compile(r"(?<=[.)])\s+(?=[A-Z0-9])")


def methods(inputs: ReportInputs) -> list[str]:
    """Paragraphs for the methods section of a paper, without repetition."""
    paragraphs = [
        *_scoring(inputs),
        *_floors(inputs),
        *_by_the_results(inputs),
        *_by_the_page(inputs),
        _versions(inputs),
    ]
    return list(dict.fromkeys(paragraph for paragraph in paragraphs if paragraph))


def _scoring(inputs: ReportInputs) -> Iterator[str]:
    parts = inputs.of("score")
    if not parts:
        return
    profiles = sorted({str(result.options.get("profile", "native")) for result in parts})
    judges = sorted({str(judge) for result in parts for judge in _listed(result.options.get("judges"))})
    seconds = {limit for result in parts if isinstance(limit := result.options.get("max_latency_s"), int | float)}
    limits = [f"{limit:g} s" for limit in sorted(seconds)]
    models = len({str(result.options.get("model", result.label)) for result in parts})
    text = (
        f"{count_of(models, 'model')} answered {count_of(inputs.rows['case'].n_unique(), 'question')} on"
        f" {count_of(inputs.rows['video'].n_unique(), 'video')}."
        if not inputs.rows.is_empty()
        else f"{count_of(models, 'model')} were scored."
    )
    text += f" Answers were scored under the profile {names_of(profiles)}; questions without an answer count as wrong"
    text += f", and so do answers later than {_either(limits)}." if limits else "."
    text += f" Free text was judged by {names_of(judges)}." if judges else " Free text was not scored."
    yield text + " Intervals of accuracies have whole videos as units."


def _either(limits: list[str]) -> str:
    return limits[0] if len(limits) == 1 else f"{', '.join(limits[:-1])} or {limits[-1]} (as their track allows)"


def _listed(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _floors(inputs: ReportInputs) -> Iterator[str]:
    if inputs.first("floors") is not None:
        yield (
            "Trivial baselines are the accuracies of systems that never see the video: the most frequent answer "
            "per format, per question template and per template and procedure type, and a prior on the text of "
            "the question, each"
            " learnt from other videos only. A margin is the difference to the best trivial baseline of the same slice."
        )


def _by_the_results(inputs: ReportInputs) -> Iterator[str]:
    """What every part says of itself; of several rankings, what they share once and the rest by name."""
    rankings = [(one.label, _first_line(result)) for one in competitions(inputs) for result in one.inputs.of("rank")]
    labelled = [(label, text) for label, text in rankings if text]
    yield from merged(labelled) if len(labelled) > 1 else [text for _, text in labelled]
    yield from (text for result in inputs.of(*_PARAGRAPHS) if (text := _first_line(result)))


def merged(texts: Sequence[tuple[str, str]]) -> Iterator[str]:
    """Paragraphs with a name each, so that sentences common to all are told once.

    Example:
        >>> list(merged([("a", "5 ran. All were tested."), ("b", "7 ran. All were tested.")]))
        ['a: 5 ran. b: 7 ran. Common to all: All were tested.']
    """
    sentences = {label: _SENTENCE.split(text) for label, text in texts}
    shared = [one for one in sentences[texts[0][0]] if all(one in theirs for theirs in sentences.values())]
    rest = [(label, [one for one in listed if one not in shared]) for label, listed in sentences.items()]
    yield " ".join(
        [
            *(f"{label}: {' '.join(listed)}" for label, listed in rest if listed),
            *([f"Common to all: {' '.join(shared)}"] if shared else []),
        ]
    )


def _first_line(result: StoredResult) -> str:
    lines = [line.strip() for line in result.prose.splitlines() if line.strip()]
    return terms_in_words(plain(lines[0])) if lines and not lines[0].startswith("Warning:") else ""


def _by_the_page(inputs: ReportInputs) -> Iterator[str]:
    live = inputs.live
    if live is not None and not inputs.first("rank") and not live.intervals[0].is_empty():
        yield (
            f"For this report, values of the metric {plain(inputs.metric, limit=60)} were given 95 %"
            " intervals from leaving out one video at a time (jackknife, Student's t with the degrees of freedom of"
            " Bell and McCaffrey, on the logit scale where the metric is bounded), and conditions were compared with"
            " all cases in the same way."
        )


def _versions(inputs: ReportInputs) -> str:
    used = sorted({str(result.stored["surgvalid"]) for result in inputs.parts if "surgvalid" in result.stored})
    packages = ", ".join(f"{name} {version_of(name)}" for name in ("numpy", "scipy", "polars"))
    results = (
        f" Results were made with surgvalid {names_of(used)}." if used and used != [version_of("surgvalid")] else ""
    )
    return f"Analyses were done with surgvalid {version_of('surgvalid')} ({packages}).{results}"


def section(inputs: ReportInputs) -> Section:
    """What was done, in paragraphs that can be copied."""
    return Section("methods", "Methods", tuple(Prose(paragraph) for paragraph in methods(inputs)))
