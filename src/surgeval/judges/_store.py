"""The verdict store: the content store as judges see it. A question that was judged once is not asked again."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surgeval.asking.store import VERDICT, Asked, ContentStore, hashed
from surgeval.judges._case import ABSTAINED, JUDGED, JudgeCase, Verdict
from surgeval.judges._prompt import PROMPT_VERSION
from surgeval.judges._verdict_file import verdict_row


def content_key(judge: str, case: JudgeCase, prompt: str = PROMPT_VERSION) -> str:
    """The key of a judge's verdict on the content of a case; the case's identifier is no part of it."""
    return Asked(VERDICT, judge, _content(case), prompt).key


class VerdictStore:
    """Verdicts on disk, shared between runs: a folder, or one file as earlier versions wrote it."""

    def __init__(self, path: str | Path) -> None:
        self.store = ContentStore(path)
        self.path, self.problems = self.store.path, self.store.problems

    def __len__(self) -> int:
        return len(self.store)

    def get(self, judge: str, case: JudgeCase, prompt: str = PROMPT_VERSION) -> Verdict | None:
        """The stored verdict of the judge on this content, or None."""
        before = hashed([judge, prompt, *_content(case)])  # the key of one-file stores
        key = content_key(judge, case, prompt)
        return self.store.get(key, _stored_verdict) or self.store.get(before, _stored_verdict)

    def put(self, judge: str, case: JudgeCase, verdict: Verdict, prompt: str = PROMPT_VERSION) -> None:
        """Keep a verdict, on disk at once. Failed and not-judged ones are not kept, nor what the token limit cut."""
        if verdict.state not in (JUDGED, ABSTAINED) or verdict.was_cut:
            return
        facts = {"latency_s": round(verdict.latency_s, 3), "tokens": verdict.tokens, "prompt": prompt}
        row = {"kind": VERDICT, **verdict_row(judge, case, verdict), **facts}
        self.store.put(content_key(judge, case, prompt), row, _stored_verdict)


def _content(case: JudgeCase) -> tuple[Any, ...]:
    return (
        case.procedure, float(case.start_s), float(case.end_s), case.question, case.definitions, case.reference,
        case.candidate,
    )  # fmt: skip


def _stored_verdict(row: Mapping[str, Any]) -> Verdict | None:
    state, correct, text = row.get("state"), row.get("verdict"), row.get("text", "")
    fits = (state == JUDGED and isinstance(correct, bool)) or (state == ABSTAINED and correct is None)
    if not fits or not isinstance(text, str):
        return None
    latency, tokens = row.get("latency_s", 0.0), row.get("tokens", 0)
    latency = float(latency) if isinstance(latency, int | float) and math.isfinite(latency) else 0.0
    tokens = tokens if isinstance(tokens, int) else 0
    return Verdict(correct, str(state), text, latency, tokens, str(row.get("finish", "")))
