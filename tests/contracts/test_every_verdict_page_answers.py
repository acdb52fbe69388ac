"""Pages of studies with a planted truth: a fixed program reads six answers from what is seen, in plain words."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any, NamedTuple

import numpy as np
import pytest

from surgvalid.studies.study import study

MARGIN = 0.03
PATIENTS, CASES = 20, 6
FORBIDDEN = (
    r"boards?", r"floors?", r"gates?", r"buckets?", r"odds", r"logit", r"copeland", r"macro", r"aggregation",
    r"timed_out", r"not_asked", r"drop-case", r"estimand", r"redraws?", r"resamples?", r"jackknife",
    r"cannot be told apart", r"nothing can be concluded", r"significant(?:ly)?", r"outperforms?", r"robust", r"trend",
    r"films?", r"pictures?", r"sign-?flips?", r"bootstrap\w*", r"degrees of freedom", r"P\d\.\d", r"E\d",
    r"unit of independence", r"rank sets?", r"clusters?", r"null hypothesis", r"pooled", r"strat(?:um|a)",
    r"median over models", r"None", r"nan", r"inf", r"[A-Za-z]\w*_\w+",
)  # fmt: skip


class Visible(HTMLParser):
    """Text of the first page as it is seen: without scripts, images, the appendix and the line for statisticians."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0
        self.tag = self.kind = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.hidden += tag in ("script", "style", "svg") or known.get("id") == "appendix"
        self.tag, self.kind = tag, known.get("class") or ""

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip() and self.kind != "facts":
            self.lines.append(f"{self.tag}: {' '.join(data.split())}")


def visible(page: str) -> str:
    reader = Visible()
    reader.feed(page)
    return "\n".join(reader.lines)


class Answers(NamedTuple):
    """What a reader takes from a page who knows neither the table nor how it was made."""

    who: str | None
    """The better model; None where no winner is named."""
    amount: float | None
    """By how much, to the winner's good; without a winner, that of the first model."""
    matters: bool | None
    """Whether that is more than the margin; None where it is open, or nobody gave one."""
    interval: tuple[float, float] | None
    patients: int
    fails: str | None
    """The patient of the hardest cases, where they are all of one."""
    next: str
    """The first step."""


def answers(text: str) -> Answers:
    """The six answers: who is better, by how much, does it matter, how sure, where does it fail, what next."""
    title, lead = (re.search(pattern, text, re.MULTILINE) for pattern in (r"^h1: (.*)$", r"^h1: .*\np: (.*)$"))
    assert title is not None
    assert lead is not None
    told = lead[1].replace("\u2212", "-")
    winner = re.match(r"(\w+) is better than", title[1])
    bounded = re.search(r"\((-?[\d.]+)(?: \w+)? to (-?[\d.]+)(?: \w+)?; (\d+) patients\)", told)
    size = re.search(r"(-?\d+\.\d+)(?: \w+)*(?: apart| above \w+)? \(", told)
    counted = re.search(r"(\d+) patients", told)
    assert counted is not None
    small = re.search(r"too little to matter|equal for practice|by less than the margin", title[1] + told)
    hard = re.search(r"^h3: The \w+ hardest cases are all of patient (\w+)$", text, re.MULTILINE)
    step = re.search(r"^h3: What to do next\nli: (.*)$", text, re.MULTILINE)
    assert step is not None
    return Answers(
        winner and winner[1],
        float(size[1]) if size else None,
        False if small else True if "more than the margin" in told else None,
        (float(bounded[1]), float(bounded[2])) if bounded else None,
        int(counted[1]),
        hard and hard[1],
        step[1],
    )


def planted(
    seed: int, effect: float, *, cases: int = CASES, hard: int | None = None, patients: int = PATIENTS,
    metric: str = "dice",
) -> list[dict[str, Any]]:  # fmt: skip
    """Two models: B ahead by the effect in every patient, one patient hard for both.

    Of `hd95` the values are millimetres, ten for each 0.1 of Dice, and fewer are better.
    """
    rng = np.random.default_rng(seed)
    rows = []
    spread = rng.normal(0, 0.006, patients)
    for patient in range(patients):
        ease = rng.normal(0.8, 0.02) - (0.3 if patient == hard else 0.0)
        lead = effect + spread[patient] - spread.mean()  # the mean is the planted effect, up to the noise of cases
        for case in range(cases):
            for model, lift in (("A", 0.0), ("B", lead)):
                value = float(np.clip(ease + lift + rng.normal(0, 0.004), 0, 1))
                scored = value if metric == "dice" else 100 * (1 - value)
                rows.append(
                    {"patient": f"P{patient:02d}", "case": f"P{patient:02d}-{case}", "model": model, metric: scored}
                )
    return rows


class Truth(NamedTuple):
    """What was planted, and what a page may say of it."""

    effect: float
    patients: int = PATIENTS
    metric: str = "dice"
    margin: float | None = MARGIN
    who: str | None = None
    matters: bool | None = None
    step: str = "Look at patient {hard} before choosing"


TRUTHS = (
    Truth(0.06, who="B", matters=True),
    Truth(0.012, who="B", matters=False),
    Truth(0.0, matters=False),
    Truth(-0.06, who="A", matters=True),
    Truth(0.06, margin=None, who="B", step="Say what difference matters to a patient"),
    Truth(0.06, patients=5, step="Plan how many patients an answer takes"),
    Truth(0.06, metric="hd95", margin=3.0, who="B", matters=True),
    Truth(-0.06, metric="hd95", margin=None, who="A", step="Say what difference matters to a patient"),
)


@pytest.mark.parametrize("seed", range(20))
def test_six_questions_are_answered_as_planted(seed: int) -> None:
    truth, hard = TRUTHS[seed % len(TRUTHS)], seed % TRUTHS[seed % len(TRUTHS)].patients
    rows = planted(seed, truth.effect, hard=hard, patients=truth.patients, metric=truth.metric)
    found = answers(visible(study(rows, margin=truth.margin, metric=truth.metric).html()))
    assert (found.who, found.matters, found.patients) == (truth.who, truth.matters, truth.patients)
    assert found.fails == f"P{hard:02d}"
    assert found.next.startswith(truth.step.format(hard=f"P{hard:02d}"))
    scale = 1 if truth.metric == "dice" else 100
    if truth.patients < 6:
        assert found.interval is None
        return
    assert found.amount is not None
    assert found.interval is not None
    assert abs(abs(found.amount) - abs(truth.effect) * scale) < 0.006 * scale
    assert found.interval[0] - 0.003 * scale <= abs(truth.effect) * scale <= found.interval[1] + 0.003 * scale


def changed(seed: int, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The table as one of ten people would have written it."""
    kind = seed % 10
    if kind == 1:  # answers, right or wrong
        return [{**row, "dice": float(row["dice"] > 0.8)} for row in rows]
    if kind == 2:  # some scores are not there, all of one model
        return [
            {**row, "dice": None if row["model"] == "A" and n % 9 == 0 else row["dice"]} for n, row in enumerate(rows)
        ]
    if kind == 3:  # three trainings of each model
        return [{**row, "seed": one, "dice": row["dice"] + one / 1000} for row in rows for one in range(3)]
    if kind == 4:  # two organs
        return [
            {**row, "organ": organ, "dice": row["dice"] - lift}
            for row in rows
            for organ, lift in (("liver", 0), ("duct", 0.2))
        ]
    if kind == 5:  # a second metric that says otherwise
        return [{**row, "hd95": 10 + 30 * row["dice"]} for row in rows]
    if kind == 6:  # who is better depends on the hospital
        return [
            {**row, "hospital": "north" if row["patient"] < "P10" else "south",
             "dice": row["dice"] - (0.1 if row["model"] == "B" and row["patient"] < "P10" else 0)} for row in rows
        ]  # fmt: skip
    if kind == 7:  # a third model, two centres
        rows = rows + [{**row, "model": "C", "dice": row["dice"] - 0.01} for row in rows if row["model"] == "A"]
        return [{**row, "center": "north" if row["patient"] < "P05" else "south"} for row in rows]
    if kind == 8:  # nobody says whose images they are
        return [{"image": row["case"], "model": row["model"], "dice": row["dice"]} for row in rows]
    if kind == 9:  # a single model
        return [row for row in rows if row["model"] == "A"]
    return rows


def test_two_hundred_pages_speak_plainly() -> None:
    rng = np.random.default_rng(1)
    spoken, kinds = set(), set()
    for seed in range(200):
        effect = float(rng.choice([0.0, 0.004, 0.02, 0.1]))
        rows = changed(seed, planted(seed, effect, cases=2, patients=(4, 9, 20)[seed % 3]))
        made = study(rows, margin=MARGIN if seed // 10 % 2 else None, metric="dice")
        kinds.add(made.judged.kind)
        told = [line.partition(": ") for line in visible(made.html()).splitlines()]
        spoken.update(words for _, _, words in told)
        spoken.update(line for sentence in made.verdict for line in sentence.splitlines())
        [title] = [words for tag, _, words in told if tag == "h1"]
        assert len(title) <= 70, title
    assert len(kinds) > 6
    pattern = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})\b", re.IGNORECASE)
    assert [(found[0], line) for line in sorted(spoken) if (found := pattern.search(line))] == []
