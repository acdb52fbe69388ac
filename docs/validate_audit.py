"""How often audits accuse sound studies, and how often they see a planted fault.

`python -m docs.validate_audit` rewrites the tables between the markers of `validation-audit.md` (200 sound studies and
20 with each fault, a fifth of a second of CPU time each; `--processes` spreads it).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from docs.planted_studies import EIGHT, PLANTED, clean_study, eight_faults
from docs.studies import Study, asked, markdown, put_table, repeated
from surgvalid.audit.audit import audited, chosen_pitfalls
from surgvalid.stats.intervals.proportions import share

PAGE = Path(__file__).parent / "validation-audit.md"
CODES = tuple(PLANTED)
SOUND, FAULTY = 200, 20
_OUTCOMES = {"fail": 0.0, "pass": 1.0, "not assessable": 2.0, "needs an answer": 3.0}


def sound_study(*, repetition: int) -> list[float]:
    """The outcome of every check of one sound study."""
    checks = audited(clean_study(1000 + repetition)).tables["checks"]
    return [_OUTCOMES[outcome] for outcome in checks["outcome"]]


def faulty_study(code: str, *, repetition: int) -> float:
    """Whether the check of a fault sees it."""
    study = PLANTED[code](clean_study(5000 + repetition))
    return float(audited(study, pitfalls=[code]).tables["checks"]["outcome"][0] == "fail")


def eight_seen(*, repetition: int) -> float:
    """How many of eight faults in one study are seen."""
    checks = audited(eight_faults(clean_study(9000 + repetition)), pitfalls=EIGHT).tables["checks"]
    return float((checks["outcome"] == "fail").sum())


def main() -> None:
    """Simulate and write the tables."""
    chosen = asked(__doc__ or "", repetitions=SOUND)
    studies = [Study(sound_study, (), chosen.repetitions)]
    studies += [Study(faulty_study, (code,), min(FAULTY, chosen.repetitions)) for code in CODES]
    studies.append(Study(eight_seen, (), min(FAULTY, chosen.repetitions)))
    outcomes, *seen, eight = repeated(studies, processes=chosen.processes)
    put_table(PAGE, "checks", checks_table(outcomes, seen))
    put_table(PAGE, "studies", studies_table(outcomes))
    put_table(PAGE, "eight", eight_table(eight))


def checks_table(outcomes: np.ndarray, seen: list[np.ndarray]) -> str:
    """A row per check."""
    titles = {module.ABOUT.code: module.ABOUT.title for module in chosen_pitfalls(())}
    rows = []
    for place, code in enumerate(CODES):
        false = share(int((outcomes[:, place] == 0).sum()), len(outcomes))
        rows.append([f"{code} {titles[code]}", f"{false.value:.1%} [{false.low:.1%}, {false.high:.1%}]",
                     f"{(outcomes[:, place] == 1).mean():.0%}", f"{seen[place].mean():.0%}"])  # fmt: skip
    return markdown(["check", "false alarms", "passes", "planted fault seen"], rows)


def studies_table(outcomes: np.ndarray) -> str:
    """How many sound studies have a false alarm anywhere."""
    any_alarm = share(int((outcomes == 0).any(axis=1).sum()), len(outcomes))
    rows = [[f"{len(outcomes)}", f"{any_alarm.value:.1%} [{any_alarm.low:.1%}, {any_alarm.high:.1%}]"]]
    return markdown(["sound studies", "with a false alarm in any of 18 checks"], rows)


def eight_table(seen: np.ndarray) -> str:
    """In how many studies with eight faults all eight are seen."""
    rows = [[f"{len(seen)}", f"{int((seen == len(EIGHT)).sum())}", f"{seen.min():.0f}"]]
    return markdown(["studies with eight faults", "all eight seen", "fewest seen in one"], rows)


if __name__ == "__main__":
    main()
