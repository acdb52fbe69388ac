"""What lint found: findings as data, counts that are always complete, and a text to read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from surgvalid.results.result import Result
from surgvalid.schema.finding_log import OFFICIAL_ABORTS, RULES
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.questions.formats import shown

SHOWN_EXAMPLES = 3


class FormatCount(NamedTuple):
    """What became of the questions of one answer format."""

    format: str
    """The format's name, or `all`."""
    questions: int
    answered: int
    """With a text that its format reads."""
    missing: int
    empty: int
    """Empty, null or nested content."""
    unreadable: int
    """Text that its format does not read, over-long ones included."""


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class LintReport(Result):
    """The result of `lint`. Nothing in it stops anything; read it, mend the file, lint again.

    `findings` has errors first, and at most `keep_per_code` of each code; `counts` is complete.
    """

    counts: Mapping[str, int]
    """Findings per code, most severe first."""
    formats: tuple[FormatCount, ...]
    """Per answer format, then `all`. Without references only `all`."""
    responses: int
    questions: int
    has_references: bool

    def __post_init__(self) -> None:
        object.__setattr__(self, "records", {"lint": self.as_dict()})

    def number(self, severity: Severity) -> int:
        """How many findings have this severity."""
        return sum(n for code, n in self.counts.items() if RULES[code].severity is severity)

    @property
    def clean(self) -> bool:
        """Whether there is nothing but notes."""
        return not self.number(Severity.ERROR) and not self.number(Severity.WARNING)

    @property
    def official_aborts(self) -> tuple[str, ...]:
        """The codes found on which the official toolkit stops or may stop."""
        return tuple(code for code in self.counts if code in OFFICIAL_ABORTS)

    @property
    def table(self) -> pl.DataFrame:
        """The findings as a table, one row each."""
        columns = ("code", "severity", "case", "where", "message", "nearest")
        data = {name: [_plain(getattr(finding, name)) for finding in self.findings] for name in columns}
        aborts = [finding.code in OFFICIAL_ABORTS for finding in self.findings]
        schema = dict.fromkeys(columns, pl.String)
        return pl.DataFrame(data, schema=schema).with_columns(pl.Series("official_aborts", aborts, dtype=pl.Boolean))

    def as_dict(self) -> dict[str, Any]:
        """The report as plain data, the content of `lint.json`."""
        return {
            "clean": self.clean,
            "responses": self.responses,
            "questions": self.questions,
            "references_given": self.has_references,
            "severities": {severity.value: self.number(severity) for severity in Severity},
            "counts": dict(self.counts),
            "official_aborts": list(self.official_aborts),
            "formats": [count._asdict() for count in self.formats],
            "findings": [{**f.as_dict(), "official_aborts": f.code in OFFICIAL_ABORTS} for f in self.findings],
            "not_listed": sum(self.counts.values()) - len(self.findings),
        }

    def summary(self, *, examples: int = SHOWN_EXAMPLES) -> str:
        """The report to read: counts per format, then each code with its first examples."""
        blocks = [f"{self.responses:,} responses, {self.questions:,} questions", _format_table(self.formats)]
        for severity in Severity:
            codes = [code for code in self.counts if RULES[code].severity is severity]
            if codes:
                blocks.append(_heading(severity, self.number(severity)))
                blocks += [self._block(code, examples) for code in codes]
        return "\n\n".join([*blocks, self.verdict])

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence or two."""
        if self.clean and not self.counts:
            return "Clean: nothing to mend."
        if self.clean:
            return "Clean: nothing to mend, only notes."
        mend = f"Not clean: {_many(self.number(Severity.ERROR), 'error')}, "
        mend += f"{_many(self.number(Severity.WARNING), 'warning')}."
        always = [code for code in self.official_aborts if RULES[code].official == "yes"]
        if always:
            return f"{mend} The official toolkit would stop without a score ({', '.join(always)})."
        return mend

    def _block(self, code: str, examples: int) -> str:
        rule, total = RULES[code], self.counts[code]
        condition = "" if rule.official == "yes" else f" {rule.official}"
        official = f" The official toolkit stops here{condition}." if rule.aborts else ""
        lines = [f"  {code} ({total:,}): {rule.meaning}{official}"]
        examples_shown = [finding for finding in self.findings if finding.code == code][:examples]
        lines += [f"      {_example(finding)}" for finding in examples_shown]
        if total > len(examples_shown):
            lines.append(f"      ... and {total - len(examples_shown):,} more")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.summary(examples=1)


def _plain(value: Any) -> str | None:
    return None if value is None else str(value)


def _example(finding: Finding) -> str:
    place = " ".join(place for place in (finding.where, f"[{finding.case[:80]}]" if finding.case else "") if place)
    meant = f"; probably meant: {shown(finding.nearest)}" if finding.nearest is not None else ""
    return f"{place}{': ' if place else ''}{finding.message}{meant}"


def _heading(severity: Severity, count: int) -> str:
    return _many(count, severity.value).upper()


def _many(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _format_table(formats: tuple[FormatCount, ...]) -> str:
    rows = [FormatCount._fields, *((f.format, *(f"{n:,}" for n in f[1:])) for f in formats)]
    widths = [max(len(row[i]) for row in rows) for i in range(len(FormatCount._fields))]
    lines = ["  " + "  ".join([row[0].ljust(widths[0]), *map(str.rjust, row[1:], widths[1:])]) for row in rows]
    rule = "  " + "  ".join("-" * width for width in widths)
    return "\n".join([lines[0], rule, *lines[1:]])
