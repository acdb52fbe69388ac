"""A program under our own protocol, alone or in a container: the place for whatever needs an environment of its own.

It is asked one prompt at a time, as submissions are. Beside the keys of a question it gets `pictures` (paths),
`times_s`, `labels` and `several`; it answers with `content`, and with `extra: {"scores": {label: number}}` where it
scores labels. Media appear in its input folder for the time of their question, under names that say nothing.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from surgvalid.asking import messages
from surgvalid.asking.driver import working_folders
from surgvalid.asking.messages import ProtocolQuestion
from surgvalid.asking.plan import AskingRules, StagedMedia
from surgvalid.asking.session import Answered, Participant, Session, Workplace, open_session
from surgvalid.errors import EngineFailed, ProgramMissing
from surgvalid.models._model import FREE, Can, Clip, Done, ModelTrouble, Outcome, Price, Prompt, PromptImage
from surgvalid.models._open import ModelOptions
from surgvalid.sandbox import Engine, Mount
from surgvalid.schema.outcomes import Status

_MOST_RESTARTS = 3
_TROUBLES = {
    messages.ExchangeOutcome.TIMEOUT: ModelTrouble.TRANSIENT,
    messages.ExchangeOutcome.INFRA_ERROR: ModelTrouble.TRANSIENT,
}


@dataclass(frozen=True, slots=True)
class PromptQuestion(ProtocolQuestion):
    """A question with what only prompts have."""

    more: Mapping[str, Any]

    def as_bytes(self) -> bytes:
        """The body of `POST /answer`."""
        return json.dumps(json.loads(ProtocolQuestion.as_bytes(self)) | self.more).encode("ascii")


class ProgramModel:
    """A program that is started for a run and ended with it.

    Args:
        kind: Of its specification.
        name: Its specification.
        engine: What runs it.
        entrant: Gives what is run, for as long as the block lasts.
        revision: What identifies the program.
        options: Seconds for an answer, convention of boxes.
    """

    host: str | None = None
    price: Price | None = FREE
    stored = True

    def __init__(
        self,
        kind: str,
        name: str,
        *,
        engine: Engine,
        entrant: Callable[[], AbstractContextManager[Participant]],
        revision: str,
        options: ModelOptions,
    ) -> None:
        self.kind, self.name, self.engine, self.entrant, self.revision = kind, name, engine, entrant, revision
        self.rules = AskingRules(budget_s=options.timeout_s)
        self.parameters: Mapping[str, Any] = {"budget_s": options.timeout_s}
        self.can = Can(
            images=True, most_frames=options.most_frames, video=True, spans=True, boxes=options.boxes, scores=True
        )

    def ask(self, prompts: Iterable[Prompt], done: Done) -> None:
        """Ask one prompt after the other; a program that ends is started again, a few times."""
        with ExitStack() as stack:
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="sg-")))
            root, sockets = stack.enter_context(working_folders(folder))
            entrant = stack.enter_context(self.entrant())
            host = _Host(self.engine, entrant, self.rules, root, sockets)
            stack.callback(host.end)
            for position, prompt in enumerate(prompts):
                done(position, host.outcome_of(prompt))

    def close(self) -> None:
        """The program ends with each run."""


@contextmanager
def command_participant(entrant: Participant) -> Iterator[Participant]:
    """What is run where nothing has to be stored for it."""
    yield entrant


class _Host:
    """The program that is up, and what it has left of restarts."""

    def __init__(self, engine: Engine, entrant: Participant, rules: AskingRules, root: Path, sockets: Path) -> None:
        self.engine, self.entrant, self.rules, self.root, self.sockets = engine, entrant, rules, root, sockets
        self.staged = StagedMedia(root)
        self.inside = engine.inside(Mount.input(self.staged.input))
        self.session: Session | None = None
        self.starts = self.asked = 0
        self.why_not = ""

    def outcome_of(self, prompt: Prompt) -> Outcome:
        try:
            session = self._ready()
            if session is None:
                return Outcome(Status.FAILED, trouble=ModelTrouble.PERMANENT, reason=self.why_not)
            return self._asked(session, prompt)
        except (EngineFailed, OSError) as error:
            self.end()
            return Outcome(Status.INFRASTRUCTURE, trouble=ModelTrouble.TRANSIENT, reason=str(error))

    def end(self) -> None:
        """End the program, if one is up."""
        session, self.session = self.session, None
        if session is not None:
            with session:
                session.end(grace_s=self.rules.stop_s)

    def _asked(self, session: Session, prompt: Prompt) -> Outcome:
        media = {
            f"{number:04}{piece.path.suffix.lower()}": piece
            for number, piece in enumerate(piece for piece in prompt.parts if not isinstance(piece, str))
        }
        for name, piece in media.items():
            self.staged.stage(piece.path, name)

        def show() -> None:
            for name in media:
                self.staged.show(name)

        try:
            given = session.ask(self._question(prompt, media), before=show)
        finally:
            for name in media:
                self.staged.hide(name)
        if not given.usable or given.replace:
            self.end()
        return _outcome(given, prompt)

    def _question(self, prompt: Prompt, media: Mapping[str, PromptImage | Clip]) -> PromptQuestion:
        self.asked += 1
        pictures = {f"{self.inside}/{name}": piece for name, piece in media.items() if isinstance(piece, PromptImage)}
        clips = {f"{self.inside}/{name}": piece for name, piece in media.items() if isinstance(piece, Clip)}
        path, clip = next(iter(clips.items()), (next(iter(pictures), ""), None))
        start_s = 0.0 if clip is None else clip.start_s
        more = {
            "pictures": list(pictures),
            "times_s": [picture.at_s for picture in pictures.values()],
            "labels": list(prompt.labels),
            "several": prompt.several,
        }
        return PromptQuestion(
            case=f"question-{self.asked}",
            video=f"video-{self.asked}",
            path=path,
            start_s=start_s,
            end_s=start_s if clip is None or clip.end_s is None else clip.end_s,
            procedure="",
            text="\n\n".join(text for text in (prompt.system, *prompt.parts) if isinstance(text, str) and text),
            track=self.rules.track,
            budget_s=self.rules.budget_s,
            more=more,
        )

    def _ready(self) -> Session | None:
        """A program that reports ready, started if need be; None when it was tried often enough."""
        while self.session is None and self.starts <= _MOST_RESTARTS:
            self.starts += 1
            try:
                self.session = open_session(self.engine, self.entrant, self.rules, self._workplace())
            except ProgramMissing as error:
                self.why_not, self.starts = str(error), _MOST_RESTARTS + 1
                return None
            start = self.session.wait_until_ready()
            if not start.ready:
                self.why_not = f"the program does not get ready: {start.detail}"
                logs = self.session.running.logs().decode("utf-8", "replace").split("\n")
                self.why_not += "".join(f"; it printed: {line.strip()}" for line in logs[-2:] if line.strip())[:300]
                self.end()
                self.starts = _MOST_RESTARTS + 1
        if self.session is None:
            self.why_not = self.why_not or f"the program ended {_MOST_RESTARTS} times"
        return self.session

    def _workplace(self) -> Workplace:
        output, sockets = self.root / f"output-{self.starts}", self.sockets / str(self.starts)
        for folder in (output, sockets):
            folder.mkdir(mode=0o777)
            folder.chmod(0o777)
        return Workplace(self.staged.input, output, sockets)


def _outcome(given: Answered, prompt: Prompt) -> Outcome:
    if given.outcome is not messages.ExchangeOutcome.OK:
        trouble = _TROUBLES.get(given.outcome, ModelTrouble.PERMANENT)
        return Outcome(given.outcome.status, seconds=given.latency_s, trouble=trouble, reason=given.detail)
    scores = given.extra.get("scores") if isinstance(given.extra, dict) else None
    labelled = _scores(scores, prompt)
    if isinstance(labelled, str):
        return Outcome(Status.UNREADABLE, seconds=given.latency_s, trouble=ModelTrouble.PERMANENT, reason=labelled)
    return Outcome(Status.ANSWERED, given.content or "", labelled, given.latency_s)


def _scores(scores: Any, prompt: Prompt) -> dict[str, float] | str | None:
    """The scores by label, or what is wrong with them: one for each label and no other."""
    if scores is None:
        return None
    if not isinstance(scores, dict) or set(scores) != set(prompt.labels):
        return "the scores of the answer are not those of the labels that were asked for"
    if not all(isinstance(value, int | float) and not isinstance(value, bool) for value in scores.values()):
        return "a score of the answer is no number"
    return {label: float(scores[label]) for label in prompt.labels}
