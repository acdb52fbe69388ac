"""Ask a model the questions of the challenge and keep what it says as an answer file."""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl

from surgvalid.asking.meter import Progress, expect
from surgvalid.asking.reading import ReadingPolicy, ReplySchema, read_reply
from surgvalid.asking.reading.cleaning import cleaned, without_reasoning
from surgvalid.errors import Misuse
from surgvalid.models._estimate import CostEstimate, check_consent, check_prompts, estimate
from surgvalid.models._long_video.forms import form_of
from surgvalid.models._model import Model, ModelTrouble, Outcome, Prompt
from surgvalid.models._open import open_model
from surgvalid.models._questions import PROMPT, QuestionMedia, read_prompts
from surgvalid.models._runner import RunCounts, ask_all
from surgvalid.models._sight import SightTest, check_sight
from surgvalid.results.request import VerbRequest as Called
from surgvalid.results.request import requested
from surgvalid.results.result import Result, write_text
from surgvalid.results.tables.tasks import OUTCOMES
from surgvalid.schema.findings import Finding, Severity
from surgvalid.schema.outcomes import Status
from surgvalid.schema.procedures.foreign_objects import CLASS_NAMES
from surgvalid.schema.questions.formats import FORMATS
from surgvalid.schema.questions.question_files import Sources, load_questions
from surgvalid.schema.questions.questions import Request, Response


@dataclass(frozen=True, repr=False, eq=False, kw_only=True)
class AskResult(Result):
    """What a model answered, as an official answer file and with everything that is known."""

    responses: tuple[Response, ...] = ()
    """One for every question, in their order; without content where there is no answer."""
    counts: RunCounts | None = None

    @property
    def title(self) -> str:
        """Who was asked, and how much came of it."""
        counts = self.counts or RunCounts()
        return f"{counts.answered} of {counts.prompts} questions answered"

    def screen(self) -> dict[str, pl.DataFrame]:
        """How many questions ended in which way."""
        counted = self.table.group_by("status", "trouble").len("questions").sort("questions", descending=True)
        return {self.title: counted}

    def facts(self) -> dict[str, Any]:
        """The counts."""
        return {"counts": (self.counts or RunCounts()).as_dict()}

    def write(self, folder: Path) -> None:
        """Beside tables and answers.json, every response with its status as JSON Lines."""
        super().write(folder)
        write_text(folder / "responses.jsonl", "\n".join(json.dumps(r.as_record()) for r in self.responses))

    def to_answers(self, path: str | Path) -> Path:
        """Write the official answer file alone: what was answered, three keys each."""
        path = Path(path)
        write_text(path, json.dumps(self.records["answers"], indent=2, ensure_ascii=False))
        return path


@requested("ask", files=("requests", "definitions"))
def ask(
    model: str | Model,
    requests: Sources,
    *,
    videos: str | Path,
    track: str,
    definitions: str | Path | None = None,
    frames: int | None = None,
    media: str = "auto",
    prompts: str | Path | None = None,
    max_tokens: int = 256,
    store: str | Path | None = None,
    max_cost: float | None = None,
    send_media_to: Sequence[str] = (),
    accept_blind: bool = False,
    policy: str = ReadingPolicy.CAREFUL,
    progress: Progress = None,
    **options: Any,
) -> AskResult:
    """What a model answers to questions of the challenge; every question is in it, answered or not.

    Args:
        model: A specification such as `openai:MODEL@URL`, or an open model.
        requests: The questions.
        videos: Folder with the video files, named as the videos are, or with images named as the questions.
        track: frame, segment or procedure.
        definitions: Text that is shown before every question, such as the foreign-object definitions.
        frames: Shown for a question: 1, 16 and 32 on the three tracks by default.
        media: frames, video, or auto.
        prompts: Published prompts by name, such as `frontier-1`, or a file with others.
        max_tokens: Room for an answer.
        store: Folder that keeps answers and frames, so that nothing is asked or cut twice. Without one, all is asked.
        max_cost: Money, in the currency of the model's price; no request is sent that could lead beyond it.
        send_media_to: Hosts, other than this machine, that images may go to.
        accept_blind: Ask a model that does not see its images all the same; the answers are marked.
        policy: What is made of a reply that breaks the official format of a closed question: `careful` and `lenient`
            hand over the value that it commits itself to, `strict` the reply as it is. Replies are kept beside it.
        progress: Hears of every outcome.
        **options: How the model is opened; fields of `surgvalid.models.ModelOptions`.

    Raises:
        UnknownName: No such model, option or track.
        Misuse: Images would leave this machine and nobody agreed to that, or a key is not set.
        InputInvalid: Questions or video files cannot be used, or the model cannot take them.
    """
    with ExitStack() as stack:
        asking = _Asking(
            model,
            requests,
            store,
            options,
            videos=videos,
            track=track,
            definitions=definitions,
            frames=frames,
            media=media,
            prompts=prompts,
            max_tokens=max_tokens,
        )
        stack.callback(asking.close)
        check_consent([asking.model], send_media_to)
        check_prompts(asking.model, asking.first())
        plan = f"{track} {frames} {media}"
        sight = check_sight(asking.model, asking.prompts(), store=store, plan=plan, accept_blind=accept_blind)
        expect(progress, len(asking.requests))
        heard: dict[str, tuple[Prompt, Outcome]] = {}

        def hear(prompt: Prompt, outcome: Outcome) -> None:
            heard[prompt.id] = (prompt, outcome)

        counts = ask_all(asking.model, asking.prompts(), done=hear, store=store, max_cost=max_cost, progress=progress)
        return _result(asking, heard, counts, sight, ReadingPolicy(policy))


def estimate_ask(
    model: str | Model, requests: Sources, *, store: str | Path | None = None, **arguments: Any
) -> CostEstimate:
    """What `ask` with the same arguments would take; frames are cut, nothing is sent."""
    names = ("videos", "track", "definitions", "frames", "media", "prompts", "max_tokens")
    given = {"definitions": None, "frames": None, "media": "auto", "prompts": None, "max_tokens": 256} | arguments
    options = {name: value for name, value in given.items() if name not in names}
    asking = _Asking(model, requests, store, options, **{name: given[name] for name in names})
    try:
        check_prompts(asking.model, asking.first())
        return estimate(asking.model, asking.prompts(), store=store, at_once=options.get("concurrency", 16))
    finally:
        asking.close()


class _Asking:
    """Model, questions and media of one call."""

    def __init__(
        self,
        model: str | Model,
        requests: Sources,
        store: str | Path | None,
        options: dict[str, Any],
        *,
        videos: str | Path,
        track: str,
        definitions: str | Path | None,
        frames: int | None,
        media: str,
        prompts: str | Path | None,
        max_tokens: int,
    ) -> None:
        if options and not isinstance(model, str):
            raise Misuse(f"options of a model ({', '.join(options)}) are for one that is named, not for an open one")
        spoken = None if prompts is None else read_prompts(prompts)
        self.prompt = PROMPT if spoken is None else spoken.name
        self.media = QuestionMedia(
            Path(videos), track, Path(store or ".") / "frames", frames=frames, media=media, spoken=spoken
        )
        self.requests = list(load_questions(requests, ()).requests.values())
        self.media.check(self.requests)
        self.words = "" if definitions is None else Path(definitions).read_text(encoding="utf-8").strip()
        self.max_tokens = max_tokens
        self._is_ours = isinstance(model, str)
        self.model: Model = open_model(model, **options) if isinstance(model, str) else model
        self._scratch = tempfile.TemporaryDirectory(prefix="sg-") if store is None else None
        if self._scratch is not None:
            self.media.cut = Path(self._scratch.name)

    def prompts(self, requests: Sequence[Request] | None = None) -> Iterator[Prompt]:
        chosen = self.requests if requests is None else requests
        return self.media.prompts(self.model, chosen, max_tokens=self.max_tokens, words=self.words)

    def first(self) -> Iterator[Prompt]:
        """A prompt that stands for all: they differ in words only."""
        for prompt in self.prompts():
            yield prompt
            return

    def close(self) -> None:
        if self._is_ours:
            self.model.close()
        if self._scratch is not None:
            self._scratch.cleanup()


def _result(
    asking: _Asking,
    heard: dict[str, tuple[Prompt, Outcome]],
    counts: RunCounts,
    sight: SightTest | None,
    policy: ReadingPolicy,
) -> AskResult:
    rows, responses, spelled = [], [], 0
    for request in asking.requests:
        prompt, outcome = heard.get(request.case, (None, None))
        if outcome is None:
            reason = asking.media.unready.get(request.case, "it was not asked")
            outcome = Outcome(Status.NOT_ASKED, trouble=ModelTrouble.PERMANENT, reason=reason)
            counts.note(outcome)
        outcome = _readable(outcome)
        rows.append(_row(request, prompt, outcome))
        response = _response(request, outcome)
        meant = _official(request, response.content or "", outcome.finish or "stop", policy)
        spelled += meant is not None
        responses.append(response if meant is None else replace(response, content=meant))
    answers = [response.as_row() for response in responses if response.content is not None]
    return AskResult(
        tables={"outcomes": OUTCOMES.frame(rows)},
        main="outcomes",
        records={"answers": answers},
        responses=tuple(responses),
        counts=counts,
        findings=(*(sight.findings if sight else ()), *_findings(asking.model, counts), *_read(spelled, counts)),
        prose=_prose(asking, counts),
        request=Called(
            settled={
                "model": asking.model.name,
                "prompt": asking.prompt,
                **({} if sight is None else {"sight": sight.as_dict()}),
            }
        ),
    )


def _readable(outcome: Outcome) -> Outcome:
    """The outcome; a reply that never came out of its reasoning is no answer."""
    if outcome.answered and outcome.text.strip() and not without_reasoning(cleaned(outcome.text)).text:
        reason = "the reply ended while the model still reasoned; give it more room (--max tokens=)"
        return replace(outcome, status=Status.UNREADABLE, reason=reason)
    return outcome


def _response(request: Request, outcome: Outcome) -> Response:
    content = without_reasoning(cleaned(outcome.text)).text if outcome.answered else None
    tokens = outcome.tokens_in + outcome.tokens_out or None
    return Response(request.case, content, round(outcome.seconds, 3), outcome.status, outcome.reason, tokens=tokens)


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 3600:02}:{int(seconds) // 60 % 60:02}:{int(seconds) % 60:02}"


_SPELLED: Mapping[str, Callable[[Any], str]] = {
    "binary": lambda held: "yes" if held else "no",
    "number": str,
    "percentage": lambda share: f"{share:g}%",
    "time": lambda moments: ", ".join(map(_clock, moments)),
    "fo_class": ", ".join,
}
"""Formats that are compared by rule, and how the official toolkit wants their values."""
_SEVERAL = re.compile("all times|timestamps", re.IGNORECASE)


def _official(request: Request, content: str, finish: str, policy: ReadingPolicy) -> str | None:
    """What a reply that breaks the official format of its question says, in that format; None where nothing is."""
    form, _ = form_of(request.question, request.start_s, request.end_s, CLASS_NAMES)
    if policy is ReadingPolicy.STRICT or form not in _SPELLED or not content or FORMATS[form]().reads(content):
        return None
    classes = CLASS_NAMES if form == "fo_class" else ()
    several = _SEVERAL.search(request.question) is not None
    schema = ReplySchema(form, classes=classes, several=several, asked=request.question)
    reading = read_reply(content, schema, finish=finish, policy=policy)
    return _SPELLED[form](reading.value) if reading.usable else None


def _read(spelled: int, counts: RunCounts) -> Iterator[Finding]:
    if spelled:
        text = f"{spelled} of {counts.answered} answers break the official format and were handed over as read"
        yield Finding("replies-read", Severity.NOTE, f"{text}; --policy strict leaves them as they are")


def _row(request: Request, prompt: Prompt | None, outcome: Outcome) -> dict[str, Any]:
    return {
        "case": request.case,
        "video": request.video,
        "status": outcome.status.value,
        "trouble": None if outcome.trouble is None else outcome.trouble.value,
        "reason": outcome.reason or None,
        "text": outcome.text or None,
        "finish": outcome.finish or None,
        "seconds": outcome.seconds,
        "tokens_in": outcome.tokens_in,
        "tokens_out": outcome.tokens_out,
        "pictures": 0 if prompt is None else prompt.frames,
        "reused": outcome.reused,
    }


def _findings(model: Model, counts: RunCounts) -> Iterator[Finding]:
    lost = counts.prompts - counts.answered
    first = f" (first: {counts.first_reason})" if counts.first_reason else ""
    if counts.all_failed:
        yield Finding("no-answers", Severity.ERROR, f"{model.name} answered none of {counts.prompts} questions{first}")
    elif lost:
        kinds = {
            "refused": counts.refused,
            "too long": counts.overflow,
            "not reached or not in time": counts.transient,
            "failed for good": counts.permanent,
            "not asked": counts.not_asked,
        }
        each = ", ".join(f"{number} {kind}" for kind, number in kinds.items() if number)
        text = f"{lost} of {counts.prompts} questions have no answer: {each}{first}"
        yield Finding("unanswered", Severity.WARNING, text)
    yield from counts.notices()


def _prose(asking: _Asking, counts: RunCounts) -> str:
    money = "" if counts.cost is None else f" for {counts.cost:.4g} in money"
    return (
        f"{asking.model.name} was asked {counts.asked} questions now and {counts.reused} before (prompt "
        f"{asking.prompt}, temperature 0, at most {asking.max_tokens} tokens), with {counts.tokens_in} tokens in and "
        f"{counts.tokens_out} out{money}."
    )
