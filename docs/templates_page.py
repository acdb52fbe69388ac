"""The page of question templates, from the catalogue."""

from __future__ import annotations

from pathlib import Path

PAGE = Path(__file__).parent / "reference" / "question-templates.md"
_HEAD = """# Question templates

Made by `make docs` from the catalogue; a test keeps it true. Every reference is computed from the
[ledger](../concepts/ledger.md) and comes with its proof; how sets are drawn and checked is on the page
[make a benchmark](../how-to/make-a-benchmark.md).
"""


def page() -> str:
    """The page as the catalogue is now."""
    from surgvalid.questions.catalogue import TEMPLATES
    from surgvalid.schema.questions.taxonomy import Capability

    templates = list(TEMPLATES.values()) if isinstance(TEMPLATES, dict) else list(TEMPLATES)
    parts = [_HEAD]
    for capability in Capability:
        own = [template for template in templates if template.capability is capability]
        if own:
            rows = [_row(template) for template in own]
            head = ["| template | tracks | format | clinical | one of its wordings |", "|---|---|---|---|---|"]
            parts.append("\n".join([f"## {capability.code} {capability.value}\n", *head, *rows]) + "\n")
    return "\n".join(parts)


def _row(template) -> str:  # type: ignore[no-untyped-def]
    tracks = ", ".join(track.value for track in template.tracks)
    clinical = "yes" if template.clinical else "no"
    return f"| `{template.name}` | {tracks} | {template.format} | {clinical} | {template.phrasings[0]} |"
