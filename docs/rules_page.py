"""The page of ranking rules, tests and other named choices, from the code's own lists."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "rules.md"
_HEAD = """# Rules and other named choices

Made by `make docs` from the code; a test keeps it true. What stands behind the ranking rules is on the page
[ranking rules](../concepts/ranking-rules.md), behind the tests on the page [tests](../concepts/tests.md).
"""


def page() -> str:
    """The page as the lists in the code are now."""
    from surgvalid.judges import JUDGES
    from surgvalid.models import MODELS
    from surgvalid.schema.questions.formats import FORMATS
    from surgvalid.scoring.official_score import PROFILES
    from surgvalid.stats.comparing.paired_tests import CORRECTIONS, TESTS
    from surgvalid.stats.ranking import MERGES, RULES

    return "\n".join(
        [
            _HEAD,
            _table("Ranking rules", "rule", ((rule.name, rule.summary) for rule in map(RULES.__getitem__, RULES))),
            _table("Merge rules of `focus`", "merge", MERGES.items()),
            _table("Paired tests", "test", ((test.name, _test(test)) for test in TESTS.values())),
            _table("Corrections", "correction", CORRECTIONS.items()),
            _table("Scoring profiles", "profile", ((name, p.summary) for name, p in PROFILES.items())),
            _table("Answer formats", "format", ((name, _first(kind)) for name, kind in FORMATS.items())),
            _table("Models", "model", ((MODELS[name].USAGE, _sentence(MODELS[name])) for name in MODELS)),
            _table("Judges", "judge", ((name, "see `surgvalid score --judge`") for name in JUDGES)),
        ]
    )


def _test(test) -> str:  # type: ignore[no-untyped-def]
    warning = f" Warning: {test.warning}." if test.warning else ""
    return f"{test.title}; the independent unit is the {test.unit}.{warning}"


def _first(member: object) -> str:
    return " ".join((member.__doc__ or "").strip().split("\n\n")[0].split())


def _sentence(member: object) -> str:
    return (member.__doc__ or "").strip().partition("\n")[0]


def _table(title: str, what: str, rows: Iterable[tuple[str, str]]) -> str:
    lines = [f"| `{name}` | {text} |" for name, text in rows]
    return "\n".join([f"## {title}\n", f"| {what} | what it does |", "|---|---|", *lines]) + "\n"
