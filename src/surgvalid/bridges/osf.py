"""A registration as answers to the questions of "OSF Preregistration", version 3, and as text to paste.

What a registration does not hold is left empty by name; nothing is invented. Every answer says from which field of the
registration it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from surgvalid.bridges.measured import write_texts
from surgvalid.schema.documents import json_text
from surgvalid.studies.preregistration import RegistrationResult

QUESTIONS = {
    "q2": "Hypotheses",
    "q3": "Study type",
    "q4": "Blinding",
    "q5": "Additional blinding",
    "q6.question": "Study design",
    "q7": "Randomization",
    "q8": "Existing data",
    "q9": "Explanation of existing data",
    "q10.question": "Data collection procedures",
    "q11": "Sample size",
    "q12": "Sample size rationale",
    "q13": "Stopping rule",
    "q14.question": "Manipulated variables",
    "q15.question": "Measured variables",
    "q16.question": "Indices",
    "q17.question": "Statistical models",
    "q18": "Transformations",
    "q19": "Inference criteria",
    "q20": "Data exclusion",
    "q21": "Missing data",
    "q22": "Exploratory analysis",
    "q23": "Other",
}
"""By the key of the answer in the platform's API."""


def write(registration: RegistrationResult, folder: str | Path, *, force: bool = False) -> list[Path]:
    """Write `osf.json` and `osf.md`; gives the files.

    Args:
        registration: What `surgvalid.preregister` gave.
        folder: Where they go.
        force: Whether files there may be replaced.

    Raises:
        WouldOverwrite: A file is there.
    """
    answered = answers(registration)
    document = {
        "schema": "OSF Preregistration",
        "version": 3,
        "registration_responses": {key: answered.get(key, ("", ""))[0] for key in QUESTIONS},
        "sources": {key: source for key, (_, source) in answered.items()},
        "unanswered": [key for key in QUESTIONS if key not in answered],
    }
    parts = [f"## {title}\n\n{answered.get(key, ('(to be answered)',))[0]}\n" for key, title in QUESTIONS.items()]
    texts = {"osf.json": json_text(document, indent=2) + "\n", "osf.md": "\n".join(parts)}
    return write_texts(texts, folder, force=force)


def answers(registration: RegistrationResult) -> dict[str, tuple[str, str]]:
    """What the registration answers: the text, and the field that it is from."""
    record = registration.records["registration"]
    content: Mapping[str, Any] = record["content"]
    analyses: Sequence[Mapping[str, Any]] = content["analyses"]
    texts = {
        "q2": ("hypotheses", _listed(content.get("hypotheses"))),
        "q6.question": ("question", content.get("question")),
        "q10.question": ("data", content.get("data")),
        "q11": ("sample_size", f"{content['sample_size']} videos" if content.get("sample_size") else ""),
        "q13": ("stopping", content.get("stopping")),
        "q15.question": ("metrics, strata", _listed([*content.get("metrics", ()), *content.get("strata", ())])),
        "q17.question": ("analyses", _listed([_in_words(one) for one in analyses])),
        "q19": ("analyses: level", _listed(_options(analyses, "level"))),
        "q20": ("exclusions", _listed(content.get("exclusions"))),
        "q21": ("analyses: missing", _listed(_options(analyses, "missing"))),
        "q23": ("notes, sha256", _listed([*filter(None, [content.get("notes")]), f"sha256 {record['sha256']}"])),
    }
    return {key: (str(text), source) for key, (source, text) in texts.items() if text}


def _in_words(analysis: Mapping[str, Any]) -> str:
    stated = {name: value for name, value in analysis["options"].items() if value not in (None, (), [], {})}
    return f"{analysis['verb']}: " + ", ".join(f"{name} {value}" for name, value in stated.items())


def _options(analyses: Sequence[Mapping[str, Any]], name: str) -> list[str]:
    """What analyses say about one option."""
    return [f"{one['verb']}: {name} {one['options'][name]}" for one in analyses if one["options"].get(name) is not None]


def _listed(several: Sequence[str] | None) -> str:
    return "\n".join(map(str, several or ()))
