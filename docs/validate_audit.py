"""How often audits accuse sound studies, and how often they see a planted fault.

`python -m docs.validate_audit` rewrites the tables between the markers of `validation-audit.md` (200 sound studies and
20 with each fault, a fifth of a second of CPU time each; `--processes` spreads it).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from docs.planted_studies import EIGHT, PLANTED, clean_study, dice_study, eight_faults
from docs.studies import Study, asked, markdown, put_table, repeated
from surgvalid.audit.audit import audited, chosen_pitfalls
from surgvalid.stats.intervals.proportions import share

PAGE = Path(__file__).parent / "validation-audit.md"
CODES = tuple(PLANTED)
SOUND, FAULTY = 200, 20
_OUTCOMES = {"fail": 0.0, "pass": 1.0, "not assessable": 2.0, "needs an answer": 3.0}


MAKERS = {"phases of 14 videos": clean_study, "outlines in 10 to 40 patients": dice_study}
"""What makes a sound study."""


def sound_study(kind: str, *, repetition: int) -> list[float]:
    """The outcome of every check of one sound study."""
    checks = audited(MAKERS[kind](1000 + repetition)).tables["checks"]
    return [_OUTCOMES[outcome] for outcome in checks["outcome"]]


def faulty_study(code: str, *, repetition: int) -> float:
    """Whether the check of a fault sees it."""
    study = PLANTED[code](clean_study(5000 + repetition))
    return float(audited(study, pitfalls=[code]).tables["checks"]["outcome"][0] == "fail")


def eight_seen(kind: str, *, repetition: int) -> float:
    """How many of eight faults in one study are seen."""
    made = (
        dice_study(9000 + repetition, faulty=True)
        if "outlines" in kind
        else eight_faults(clean_study(9000 + repetition))
    )
    checks = audited(made, pitfalls=EIGHT).tables["checks"]
    return float((checks["outcome"] == "fail").sum())


def main() -> None:
    """Simulate and write the tables."""
    chosen = asked(__doc__ or "", repetitions=SOUND)
    few = min(FAULTY, chosen.repetitions)
    studies = [Study(sound_study, (kind,), chosen.repetitions) for kind in MAKERS]
    studies += [Study(eight_seen, (kind,), few) for kind in MAKERS]
    studies += [Study(faulty_study, (code,), few) for code in CODES]
    phases, outlines, *more = repeated(studies, processes=chosen.processes)
    put_table(PAGE, "checks", checks_table([phases, outlines], more[len(MAKERS) :]))
    put_table(PAGE, "studies", studies_table([phases, outlines]))
    put_table(PAGE, "eight", eight_table(more[: len(MAKERS)]))


def checks_table(outcomes: list[np.ndarray], seen: list[np.ndarray]) -> str:
    """A row per check."""
    titles = {module.ABOUT.code: module.ABOUT.title for module in chosen_pitfalls(())}
    rows = []
    for place, code in enumerate(CODES):
        every = np.concatenate(outcomes)[:, place]
        false = share(int((every == 0).sum()), len(every))
        rows.append([f"{code} {titles[code]}", f"{false.value:.1%} [{false.low:.1%}, {false.high:.1%}]",
                     *(f"{(some[:, place] == 1).mean():.0%}" for some in outcomes),
                     f"{seen[place].mean():.0%}"])  # fmt: skip
    return markdown(["check", "false alarms", *(f"passes, {kind}" for kind in MAKERS), "planted fault seen"], rows)


def studies_table(outcomes: list[np.ndarray]) -> str:
    """How many sound studies have a false alarm anywhere."""
    rows = []
    for kind, some in zip(MAKERS, outcomes, strict=True):
        alarm = share(int((some == 0).any(axis=1).sum()), len(some))
        rows.append([kind, f"{len(some)}", f"{alarm.value:.1%} [{alarm.low:.1%}, {alarm.high:.1%}]"])
    return markdown(["sound studies", "how many", "with a false alarm in any of 18 checks"], rows)


def eight_table(seen: list[np.ndarray]) -> str:
    """In how many studies with eight faults all eight are seen."""
    rows = [
        [kind, f"{len(some)}", f"{int((some == len(EIGHT)).sum())}", f"{some.min():.0f}"]
        for kind, some in zip(MAKERS, seen, strict=True)
    ]
    return markdown(["studies with eight faults", "how many", "all eight seen", "fewest seen in one"], rows)


if __name__ == "__main__":
    main()
