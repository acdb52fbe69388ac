"""Do shares cover the truth, does a sham remedy show no gain, are models that fail alike left alone? With known truth.

`python -m docs.validate_failure_loop` rewrites the tables between the markers of `validation-mixed.md` (`--processes`
spreads the work, `--repetitions` chooses how many data sets each cell has; one takes about a second of CPU time).
Right and wrong answers are drawn: video deviation 0.6 on the log odds, case deviation 0.5, smoke on 40 % of the cases
(between 15 and 65 % by video), blood on 30 %. A sham remedy is an algorithm that is as good as the old one on average
and better or worse in single videos (deviation 0.5), smoke more or less of a problem to it in single videos (0.3).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
from scipy import special

from docs.studies import Study, asked, markdown, put_table, repeated, share
from surgvalid.stats.draws import stream
from surgvalid.stats.mixed.attributable import attributable, subgroups
from surgvalid.stats.mixed.failures import failures
from surgvalid.stats.mixed.hidden_harm import hidden_harms
from surgvalid.stats.mixed.report import FailuresResult
from surgvalid.stats.mixed.strengths import strengths
from surgvalid.studies.failure_change import failure_change

PAGE = Path(__file__).parent / "validation-mixed.md"
HARM = -1.2
LEVEL = 1.2
VIDEO, CASE = 0.6, 0.5
VIDEOS = (6, 8, 12)
PROPERTIES = ("smoke", "blood", "motion", "depth")
HIDDEN = {
    "nothing": "none", "smoke alone": "main", "smoke and blood, each by itself": "two",
    "smoke with blood only": "pair", "a depth far from its middle": "ends",
}  # fmt: skip


def answers(
    rng: np.random.Generator,
    videos: int,
    models: Sequence[str],
    *,
    cases: int = 15,
    own: float = 0.0,
    apart: float = 0.0,
) -> pl.DataFrame:
    """Right and wrong answers of models that are equally good on average.

    Args:
        rng: Where everything is drawn from.
        videos: How many.
        models: Their names.
        cases: Of every video.
        own: Deviation between videos of what a model does there for reasons of its own; the first has none.
        apart: The same of what smoke does to a model there.
    """
    rows = []
    for video in range(videos):
        level, often = rng.normal(0, VIDEO), rng.uniform(0.15, 0.65)
        extra = np.append(0.0, rng.normal(0, own, len(models) - 1)) if own else np.zeros(len(models))
        slope = np.append(0.0, rng.normal(0, apart, len(models) - 1)) if apart else np.zeros(len(models))
        for case in range(cases):
            smoke, blood, hard = rng.random() < often, rng.random() < 0.3, rng.normal(0, CASE)
            for place, model in enumerate(models):
                eta = LEVEL + (HARM + slope[place]) * smoke + level + hard + extra[place]
                right = float(rng.random() < special.expit(eta))
                rows.append((model, f"{video}/{case}", f"v{video}", int(smoke), int(blood), right))
    return pl.DataFrame(rows, schema=["model", "case", "video", "smoke", "blood", "right"], orient="row")


def true_share() -> float:
    """The share of wrong answers that goes with smoke, by integration."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(101)
    spread = nodes * np.hypot(VIDEO, CASE)
    clear, smoky = (float(weights @ special.expit(-(LEVEL + harm + spread)) / weights.sum()) for harm in (0.0, HARM))
    return 1 - clear / (0.6 * clear + 0.4 * smoky)


def analysed(table: pl.DataFrame, fixed: Sequence[str] = ("smoke",)) -> FailuresResult:
    """The failure analysis of a simulated table."""
    return failures(table, outcome="right", fixed=fixed, random=["model", "video", "case"])


def covered(videos: int, *, repetition: int) -> tuple[float, float]:
    """Whether the interval of the share holds the truth, and its width."""
    result = analysed(answers(stream(repetition, "shares", str(videos)), videos, "ab"))
    made = attributable(result, subgroups(result)[0])
    return (np.nan, np.nan) if made is None else (float(made.low <= true_share() <= made.high), made.high - made.low)


def sham(videos: int, *, repetition: int) -> tuple[float, float, float]:
    """Whether a sham remedy is said to gain anywhere, to lose anywhere, or to change the effect of a property."""
    table = answers(stream(repetition, "sham", str(videos)), videos, ("old", "new"), own=0.5, apart=0.3)
    old, new = (table.filter(pl.col("model") == name) for name in ("old", "new"))
    result = failure_change(old, new, outcome="right", fixed=["smoke", "blood"], random=["model", "video", "case"])
    gains, effects = (set(result.tables[name]["verdict"]) for name in ("gains", "effect_changes"))
    return float("better" in gains), float("worse" in gains), float(bool({"less harmful", "more harmful"} & effects))


def alike(videos: int, *, repetition: int) -> tuple[float, float]:
    """Whether smoke, or a property of every second video, is said to harm equally good models differently."""
    table = answers(stream(repetition, "alike", str(videos)), videos, "abc", cases=12, own=0.4, apart=0.3)
    table = table.with_columns(dark=(pl.col("video").str.tail(-1).cast(pl.Int64) % 2))
    tests = strengths(analysed(table, ("smoke", "dark")), table).tables["strength_tests"]
    smoke, dark = (float(p <= 0.05) if p is not None else np.nan for p in tests["p_value"])
    return smoke, dark


def hidden_harm_answers(kind: str, repetition: int, *, videos: int = 12) -> pl.DataFrame:
    """Right and wrong answers; what harms is named by `kind`.

    `none`, `main` (smoke), `two` (smoke and blood, each by itself and unlike in each video), `pair` (smoke with blood
    only), `ends` (a depth far from its middle), `own` (smoke harms the first model only).
    """
    rng, rows = stream(repetition, "hidden-harms", kind), []
    for video in range(videos):
        level, apart = rng.normal(0, 0.5), rng.normal(0, 0.5, 2)
        smoky, bloody = rng.uniform(0.2, 0.5, 2)
        for case in range(25):
            smoke, blood, motion = (int(rng.random() < often) for often in (smoky, bloody, 0.3))
            depth, hard = rng.normal(), rng.normal(0, 0.5)
            harm = {
                "main": 1.5 * smoke,
                "two": (1.5 + apart[0]) * smoke + (1.5 + apart[1]) * blood,
                "pair": 2.2 * smoke * blood,
                "ends": 1.1 * (depth**2 - 1),
            }.get(kind, 0.0)
            for model in "abcd":
                own = 2.0 * smoke if kind == "own" and model == "a" else 0.0
                right = float(rng.random() < special.expit(1.5 + level + hard - harm - own))
                rows.append((model, f"{video}/{case}", f"v{video}", smoke, blood, motion, depth, right))
    return pl.DataFrame(rows, schema=["model", "case", "video", *PROPERTIES, "right"], orient="row")


def hidden(kind: str, videos: int, *, repetition: int) -> tuple[float, float]:
    """Whether what harms beyond single properties is named, and whether anything else is."""
    table = hidden_harm_answers(kind, repetition, videos=videos)
    random = ["model", "video", "case"]
    result = failures(table, outcome="right", fixed=PROPERTIES, random=random, inference="wald-z", slopes=False)
    named = [harm.words for harm in hidden_harms(result) or ()]
    truth = {"pair": "smoke = 1 with blood = 1", "ends": "depth below"}.get(kind, "nothing")
    found = [words for words in named if words.startswith(truth)]
    return float(bool(found)), float(len(found) < len(named))


def share_lines(repetitions: int, processes: int = 1) -> list[list[object]]:
    """Coverage of 95 % intervals of the share by the number of videos."""
    studies = [Study(covered, (videos,), repetitions) for videos in VIDEOS]
    return [[videos, share(made[:, 0]), share(made[:, 1])]
            for videos, made in zip(VIDEOS, repeated(studies, processes=processes), strict=True)]  # fmt: skip


def sham_lines(repetitions: int, processes: int = 1) -> list[list[object]]:
    """How often a remedy that does nothing is said to do something."""
    studies = [Study(sham, (videos,), repetitions) for videos in VIDEOS]
    return [[videos, *(share(made[:, k]) for k in range(3))]
            for videos, made in zip(VIDEOS, repeated(studies, processes=processes), strict=True)]  # fmt: skip


def alike_lines(repetitions: int, processes: int = 1) -> list[list[object]]:
    """How often models that fail alike are said to differ."""
    studies = [Study(alike, (videos,), repetitions) for videos in VIDEOS]
    return [[videos, *(share(made[:, k]) for k in range(2))]
            for videos, made in zip(VIDEOS, repeated(studies, processes=processes), strict=True)]  # fmt: skip


def hidden_lines(repetitions: int, processes: int = 1) -> list[list[object]]:
    """How often harm beyond single properties is found, and how often something else is named."""
    cells = [(words, kind, videos) for words, kind in HIDDEN.items() for videos in (9, 12)]
    made = repeated([Study(hidden, cell[1:], repetitions) for cell in cells], processes=processes)
    return [[words, videos, share(found[:, 0]) if kind in ("pair", "ends") else "", share(found[:, 1])]
            for (words, kind, videos), found in zip(cells, made, strict=True)]  # fmt: skip


def main() -> None:
    """Rewrite the tables of the page."""
    given = asked(__doc__ or "", repetitions=200)
    count, processes = given.repetitions, given.processes
    head = ["videos", "coverage", "mean width"]
    put_table(PAGE, "shares", markdown(head, share_lines(count, processes)))
    head = ["videos", "better somewhere", "worse somewhere", "an effect changed"]
    put_table(PAGE, "sham", markdown(head, sham_lines(count, processes)))
    put_table(PAGE, "alike", markdown(["videos", "inside videos", "of whole videos"], alike_lines(count, processes)))
    head = ["what harms", "videos", "found", "something else named"]
    put_table(PAGE, "hidden", markdown(head, hidden_lines(count, processes)))


if __name__ == "__main__":
    main()
