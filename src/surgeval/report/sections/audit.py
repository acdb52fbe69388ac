"""The audit of the study: which pitfalls of validation it avoids, and on what evidence."""

from __future__ import annotations

from surgeval.report.audit_sections import overview, pitfall_blocks
from surgeval.report.inputs import Inputs
from surgeval.report.section import Block, Prose, Section
from surgeval.report.sections._wording import missing

TITLE = "Pitfalls of validation"
_NEEDED = ("checks", "evidence", "numbers")


def section(inputs: Inputs) -> Section:
    """What the audit in the folder came to, failures with their evidence."""
    audits = [result for result in inputs.of("audit") if all(not result.frame(name).is_empty() for name in _NEEDED[:2])]
    if not audits:
        return missing("audit", TITLE, "The study was not audited.", "surgeval audit DIR --out DIR/audit")
    tables = {name: audits[0].frame(name) for name in _NEEDED}
    blocks: list[Block] = [*overview(tables)]
    for row in tables["checks"].to_dicts():
        blocks += pitfall_blocks(row, tables) if row["outcome"] == "fail" else []
    return Section("audit", TITLE, (*blocks, Prose(audits[0].prose)))
