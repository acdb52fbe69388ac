"""The verdict store: what was asked once is not asked again, whichever run asked it.

JSON Lines on disk. The key of a verdict is a hash of everything that can change it: the judge, the
prompt version (which covers prompt, sampling and verdict parser) and the content of the case. Each
verdict is appended in one write as soon as it exists, so an interrupted run loses only the questions
still under way, and several runs may share a file. Failures are never stored: they are no results and
are asked again. Where two runs asked the same thing at once, the first line counts.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from surgeval.errors import FileUnreadable, JudgeFailed
from surgeval.judges._case import ABSTAINED, JUDGED, JudgeCase, Verdict, cut
from surgeval.judges._prompt import PROMPT_VERSION
from surgeval.judges._verdict_file import json_lines, verdict_row


def content_key(judge: str, case: JudgeCase) -> str:
    """The key of a judge's verdict on the content of a case; the case's identifier is no part of it."""
    content = [
        judge, PROMPT_VERSION, case.procedure, float(case.start_s), float(case.end_s),
        case.question, case.definitions, case.reference, case.candidate,
    ]  # fmt: skip
    return hashlib.blake2b(json.dumps(content).encode(), digest_size=20).hexdigest()


class VerdictStore:
    """Verdicts on disk, shared between runs.

    Raises:
        FileUnreadable: The file exists and not one of its lines is a stored verdict. Nothing is
            appended to somebody's other file.
    """

    def __init__(self, path: str | Path) -> None:
        self.path = Path(path)
        self.problems: list[str] = []
        """Lines that could not be read; their verdicts will be asked again."""
        self._verdicts: dict[str, Verdict] = {}
        self._checked_end = False
        if self.path.exists():
            self._load()

    def __len__(self) -> int:
        return len(self._verdicts)

    def get(self, judge: str, case: JudgeCase) -> Verdict | None:
        """The stored verdict of the judge on this content, or None."""
        return self._verdicts.get(content_key(judge, case))

    def put(self, judge: str, case: JudgeCase, verdict: Verdict) -> None:
        """Keep a verdict, on disk at once. Failed and not-judged ones are not kept."""
        key = content_key(judge, case)
        if verdict.state not in (JUDGED, ABSTAINED) or key in self._verdicts:
            return
        row = verdict_row(judge, case, verdict) | {
            "state": verdict.state,
            "text": cut(verdict.text),
            "latency_s": round(verdict.latency_s, 3),
            "tokens": verdict.tokens,
            "prompt": PROMPT_VERSION,
            "key": key,
        }
        self._append(json.dumps(row).encode() + b"\n")
        self._verdicts[key] = verdict

    def _append(self, line: bytes) -> None:
        """Add a whole line in one write; after a line cut short by an interruption, on a new line."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o644)
            try:
                if not self._checked_end and (size := os.fstat(descriptor).st_size):
                    os.lseek(descriptor, size - 1, os.SEEK_SET)
                    line = line if os.read(descriptor, 1) == b"\n" else b"\n" + line
                self._checked_end = True
                os.write(descriptor, line)
            finally:
                os.close(descriptor)
        except OSError as error:
            raise JudgeFailed(
                f"verdict store {self.path}: cannot be written ({error.strerror}); free or move it"
            ) from None

    def _load(self) -> None:
        for number, row in json_lines(self.path, self.problems):
            verdict = _stored_verdict(row)
            if verdict is None:
                self.problems.append(f"line {number}: not a stored verdict")
            else:
                self._verdicts.setdefault(row["key"], verdict)
        if self.problems and not self._verdicts:
            raise FileUnreadable(str(self.path), ["is no verdict store; choose another file", *self.problems])


def _stored_verdict(row: Mapping[str, Any]) -> Verdict | None:
    state, correct, text = row.get("state"), row.get("verdict"), row.get("text", "")
    fits = (state == JUDGED and isinstance(correct, bool)) or (state == ABSTAINED and correct is None)
    if not fits or not isinstance(row.get("key"), str) or not isinstance(text, str):
        return None
    latency, tokens = row.get("latency_s", 0.0), row.get("tokens", 0)
    latency = float(latency) if isinstance(latency, int | float) and math.isfinite(latency) else 0.0
    return Verdict(correct, str(state), text, latency, tokens if isinstance(tokens, int) else 0)
