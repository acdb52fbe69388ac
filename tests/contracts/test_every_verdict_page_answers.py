"""Pages of studies with a planted truth: a fixed program reads six answers from what is seen, in plain words."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import numpy as np
import pytest

from surgvalid.studies.study import StudyResult, study

MARGIN = 0.03
PATIENTS, CASES = 20, 6
FORBIDDEN = (
    r"boards?", r"floors?", r"gates?", r"buckets?", r"odds", r"logit", r"copeland", r"macro", r"aggregation",
    r"timed_out", r"not_asked", r"drop-case", r"estimand", r"redraws?", r"resamples?", r"jackknife",
    r"cannot be told apart", r"nothing can be concluded", r"significant(?:ly)?", r"outperforms?", r"robust", r"trend",
    r"films?", r"pictures?", r"sign-?flips?", r"bootstrap\w*", r"degrees of freedom", r"P\d\.\d", r"E\d",
    r"\w+_\w+",
)  # fmt: skip


class Visible(HTMLParser):
    """Text of the first page as it is seen: without scripts, images and what is folded below it."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self.hidden = 0
        self.tag = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        known = dict(attrs)
        self.hidden += tag in ("script", "style", "svg") or known.get("id") == "appendix"
        self.tag = tag

    def handle_endtag(self, tag: str) -> None:
        self.hidden -= tag in ("script", "style", "svg")

    def handle_data(self, data: str) -> None:
        if not self.hidden and data.strip():
            self.lines.append(f"{self.tag}: {data.strip()}")


def visible(page: str) -> str:
    reader = Visible()
    reader.feed(page)
    return "\n".join(reader.lines)


def planted(
    seed: int, effect: float, *, cases: int = CASES, hard: int | None = None, patients: int = PATIENTS
) -> list[dict[str, Any]]:
    """Dice of two models: B ahead by the effect in every patient, one patient hard for both."""
    rng = np.random.default_rng(seed)
    rows = []
    spread = rng.normal(0, 0.006, patients)
    for patient in range(patients):
        ease = rng.normal(0.8, 0.02) - (0.3 if patient == hard else 0.0)
        lead = effect + spread[patient] - spread.mean()  # the mean is the planted effect, up to the noise of cases
        for case in range(cases):
            for model, lift in (("A", 0.0), ("B", lead)):
                value = float(np.clip(ease + lift + rng.normal(0, 0.004), 0, 1))
                rows.append(
                    {"patient": f"P{patient:02d}", "case": f"P{patient:02d}-{case}", "model": model, "dice": value}
                )
    return rows


def page_of(made: StudyResult, tmp_path: Any) -> str:
    made.to_dir(tmp_path)
    return (tmp_path / "study.html").read_text(encoding="utf-8")


KINDS = {0.06: "better", 0.012: "too little", 0.0: "equal", -0.06: "worse"}


@pytest.mark.parametrize("seed", range(20))
def test_six_questions_are_answered_as_planted(seed: int, tmp_path: Any) -> None:
    effect, hard = list(KINDS)[seed % 4], seed % PATIENTS
    made = study(planted(seed, effect, hard=hard), margin=MARGIN, metric="dice")
    text = visible(page_of(made, tmp_path))
    title = re.search(r"^h1: (.*)$", text, re.MULTILINE)
    lead = re.search(r"^p: (.*\(.*patients?\).*)$", text, re.MULTILINE)
    assert title is not None
    assert lead is not None
    first, other = ("B", "A") if effect > 0 else ("A", "B")
    kind = KINDS[effect]
    # who is better, and does it matter
    assert {
        "better": title[1] == f"{first} is better than {other}",
        "worse": title[1] == f"{first} is better than {other}",
        "too little": title[1] == f"{first} is better than {other}, but by too little to matter",
        "equal": re.fullmatch(r"[AB] and [AB] are equal for practice", title[1]) is not None,
    }[kind], title[1]
    # by how much, how sure, in how many patients
    told = lead[1].replace("\u2212", "-")
    low, high, patients = re.search(r"\((-?[\d.]+) to (-?[\d.]+); (\d+) patients\)", told).groups()  # type: ignore[union-attr]
    assert int(patients) == PATIENTS
    named = re.search(r"(-?[\d.]+)(?: apart)? \(", lead[1])
    assert named is not None
    assert abs(abs(float(named[1])) - abs(effect)) < 0.006
    assert float(low) - 0.003 <= abs(effect) <= float(high) + 0.003
    # where it fails, and what to do next
    assert f"hardest cases are all of patient P{hard:02d}" in text
    after = text.partition("What to do next")[2]
    assert f"P{hard:02d}" in after


def test_two_hundred_pages_speak_plainly(tmp_path: Any) -> None:
    rng = np.random.default_rng(1)
    spoken, kinds = set(), set()
    for seed in range(200):
        effect = float(rng.choice([0.0, 0.004, 0.02, 0.1]))
        rows = planted(seed, effect, cases=2, patients=(4, 9, 20)[seed % 3])
        if seed % 10 == 7:  # a third model, two centres
            rows += [{**row, "model": "C", "dice": row["dice"] - 0.01} for row in rows if row["model"] == "A"]
            rows = [{**row, "center": "north" if row["patient"] < "P05" else "south"} for row in rows]
        if seed % 10 == 8:  # nobody says whose images they are
            rows = [{"image": row["case"], "model": row["model"], "dice": row["dice"]} for row in rows]
        made = study(rows, margin=MARGIN if seed % 2 else None, metric="dice")
        kinds.add(made.judged.kind)
        told = visible(made.html()).splitlines()
        told = [line for line in told if " \u00b7 " not in line]  # without the line for statisticians
        spoken.update((*told, *(line for sentence in made.verdict for line in sentence.splitlines())))
    assert len(kinds) > 5
    pattern = re.compile(rf"\b(?:{'|'.join(FORBIDDEN)})\b", re.IGNORECASE)
    assert [(found[0], line) for line in sorted(spoken) if (found := pattern.search(line))] == []
