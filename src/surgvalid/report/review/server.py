"""The server of the page: who has an address rates, blind for the others; the adjudicator decides what they dispute."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from threading import Lock
from typing import Any

from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.questions.stages.ceiling import Scorable, human_ceiling
from surgvalid.questions.stages.expert_questions import add_to_form
from surgvalid.questions.stages.history import VERDICTS, Action, History, HistoryEntry, judged
from surgvalid.questions.template import FRAME, PROCEDURE, SEGMENT, clock
from surgvalid.report.cases.frames import frame_bytes
from surgvalid.report.review.items import STILLS, Item, ReviewMaterial, stretch_of
from surgvalid.report.review.log import ReviewLog, agreement_of, latest, progress, queue, work_lists
from surgvalid.report.serving import CSS, HTML, NOT_HERE, POLICY, SCRIPT, LocalServer, PageReply, asset, json_reply
from surgvalid.schema.questions.formats import FORMATS, why_no_answer
from surgvalid.schema.questions.taxonomy import Capability

PROGRAM = "surgvalid"
"""Who proposed what nobody had proposed."""
_KINDS = {"review.css": CSS, "review.js": SCRIPT}
_FILM_KINDS = {".mp4": "video/mp4", ".mov": "video/mp4", ".webm": "video/webm", ".mkv": "video/x-matroska"}
_SHOWN_FRAMES = 128
_WRITABLE = {
    "answer_format": [name for name in FORMATS if name != "matching"],
    "primary_capability": [one.value for one in Capability if not one.is_group],
}
"""What somebody who writes a question chooses from; the format `matching` needs a pattern."""


class ReviewServer(LocalServer):
    """Serves the items of a folder to raters and one adjudicator, and keeps what they say."""

    def __init__(
        self,
        material: ReviewMaterial,
        log: ReviewLog,
        *,
        raters: Sequence[str],
        adjudicator: str = "",
        port: int = 0,
        blind: bool = True,
    ) -> None:
        """Take a port, 0 for a free one, and propose what nobody proposed yet.

        Where `blind`, a rater answers a question before its reference is shown. Of more than two raters each has a
        work list of their own, so that two see every item.

        Raises:
            Misuse: Nobody rates, a name is empty or given twice.
        """
        people = [*raters, *([adjudicator] if adjudicator else [])]
        if not raters or len(set(people)) < len(people) or not all(name.strip() for name in people):
            raise Misuse(f"everybody needs a name of their own, got {', '.join(map(repr, people)) or 'nobody'}")
        super().__init__(people, port=port)
        self.material, self.log, self.raters, self.adjudicator = material, log, tuple(raters), adjudicator
        self.blind = blind
        self._writing = Lock()
        self._known: tuple[int, dict[str, Any]] = (-1, {})
        self._films = {name: number for number, name in enumerate(material.video_files)}
        self.items = {item.name: item for item in material.items}
        self._numbers = {name: number for number, name in enumerate(self.items)}
        self.lists = work_lists(list(self.items), self.raters)
        log.propose(self.items, PROGRAM)
        self._frame = lru_cache(maxsize=_SHOWN_FRAMES)(frame_bytes)

    def get(self, name: str, rest: str, headers: Mapping[str, str]) -> PageReply:
        """The page, its parts, what is to be done, a frame or a video file."""
        del headers
        if rest == "":
            return PageReply(200, asset("review.html"), HTML, more=POLICY)
        if rest in _KINDS:
            return PageReply(200, asset(rest), _KINDS[rest])
        if rest == "work.json":
            work = self._decisions() if name == self.adjudicator else self._ratings_of(name)
            return json_reply({"who": name, "writable": _WRITABLE, **work})
        kind, _, number = rest.partition("/")
        if kind == "film" and (path := self._film(number)):
            return PageReply(200, file=path, kind=_FILM_KINDS.get(path.suffix.lower(), "application/octet-stream"))
        if kind == "boxes" and number.isdecimal() and int(number) < len(self.items):
            item = self.material.items[int(number)]
            hidden = self._is_hidden(item, name)
            return json_reply({} if hidden else {second: self.material.boxes(item, second) for second in item.moments})
        return self._frame_at(number) if kind == "frame" else NOT_HERE

    def _frame_at(self, place: str) -> PageReply:
        film, _, second = place.removesuffix(".png").partition("/")
        path = self._film(film)
        if path is None or not second.isdecimal():
            return NOT_HERE
        if path.suffix.lower() in STILLS:
            return PageReply(200, file=path, kind=STILLS[path.suffix.lower()])
        data = self._frame(path, float(second))
        return NOT_HERE if data is None else PageReply(200, data, STILLS[".png"])

    def _film(self, number: str) -> Path | None:
        known = list(self.material.video_files.values())
        return known[int(number)] if number.isdecimal() and int(number) < len(known) else None

    def post(self, name: str, rest: str, body: bytes) -> PageReply:
        """Keep a verdict, or say why it cannot be kept."""
        if rest not in ("verdict", "answer", "question"):
            return NOT_HERE
        try:
            message = json.loads(body)
            if rest == "question":
                return json_reply({"written": self._write(name, message)})
            texts = {key: str(message.get(key) or "").strip() for key in ("item", "action", "answer", "note")}
            if rest == "answer":
                return json_reply(self._take_answer(name, texts["item"], texts["answer"]))
            self._keep(name, **texts)
        except (ValueError, AttributeError):
            return json_reply({"problem": "not understood"}, code=400)
        except SurgvalidError as problem:
            return json_reply({"problem": str(problem)}, code=409)
        return json_reply({"kept": True})

    def _keep(self, who: str, *, item: str, action: str, answer: str, note: str) -> None:
        known = self.items.get(item)
        allowed = (Action.UPHELD, Action.CHANGED) if who == self.adjudicator else (*VERDICTS, Action.UNDONE)
        if known is None or action not in allowed:
            raise Misuse(f"{who!r} cannot say {action!r} of {item!r}")
        if action in (Action.APPROVED, Action.OBJECTED) and self._is_hidden(known, who):
            raise Misuse("answer the question first; the reference is shown afterwards")
        if action in (Action.OBJECTED, Action.CHANGED, Action.WITHDRAWN):
            if not answer and not note:
                raise Misuse("an objection needs a reason or the right answer")
            if answer and (why := _wrong_answer(known, self._right(known), answer)):
                raise Misuse(why)
        if action == Action.UPHELD and item not in queue(self.log.history, self.lists):
            raise Misuse(f"{item!r} is not in dispute")
        if action == Action.UNDONE and not any(e.who == who and e.action in VERDICTS for e in self.log.of(item)):
            raise Misuse(f"there is no verdict of {who!r} on {item!r} to take back")
        before = self._right(known) if answer else ""
        field = "answer" if answer else ""
        self.log.add(item, Action(action), who, field=field, before=before, after=answer, note=note)

    def _write(self, who: str, message: Mapping[str, Any]) -> str:
        """Add a question of somebody's own, on the moments that they marked, to the form for `annotate run experts`."""
        item = self.items.get(str(message.get("item")))
        if item is None:
            raise Misuse(f"there is no {message.get('item')!r} to write a question at")
        moments = [int(second) for second in message.get("moments") or item.window]
        start, end = min(moments), max(moments)
        whole = start == 0 and item.kinds.get("track") == PROCEDURE
        texts = {key: str(message.get(key) or "").strip() for key in ("question", "answer", *_WRITABLE)}
        row = {
            **texts,
            "video": item.video,
            "procedure_type": item.procedure_type,
            "track": FRAME if start == end else PROCEDURE if whole else SEGMENT,
            "clinical_relevance": "yes" if message.get("clinical") else "no",
            "timestamp_start": clock(start),
            "timestamp_end": clock(end),
            "author": who,
        }
        with self._writing:
            known = {item.video: self.material.duration_s(item)}
            return add_to_form(self.log.path.with_name("written.csv"), row, durations_s=known)

    def _take_answer(self, who: str, item: str, answer: str) -> dict[str, Any]:
        """Keep the answer that a rater gives before the reference is shown, the first one only, and show it."""
        known = self.items.get(item)
        if known is None or who == self.adjudicator:
            raise Misuse(f"{who!r} cannot answer {item!r}")
        if why := why_no_answer(known.format, known.parameters, known.options, answer):
            raise Misuse(why)
        if self._given(item, who) is None:
            self.log.add(item, Action.ANSWERED, who, field="answer", after=answer)
        return {**self._shown(known), "given": self._given(item, who)}

    def _given(self, item: str, who: str) -> str | None:
        """The first answer of a rater."""
        return next((e.after for e in self.log.of(item) if e.action is Action.ANSWERED and e.who == who), None)

    def _right(self, item: Item) -> str:
        """The answer as it stands, also where somebody has corrected it since the question was made."""
        return judged(self.log.of(item.name)).right or item.answer

    def _is_hidden(self, item: Item, who: str) -> bool:
        """Whether somebody has still to answer before the reference is shown."""
        return self.blind and bool(item.kinds) and who in self.raters and self._given(item.name, who) is None

    # --- what each may see -----------------------------------------------------------------------

    def _ratings_of(self, who: str) -> dict[str, Any]:
        """The items of this rater with what they said of them; nothing of what others said."""
        votes, items = latest(self.log.history), []
        for item in (self.items[name] for name, people in self.lists.items() if who in people):
            shown = {**self._shown(item), "mine": _verdict(votes.get(item.name, {}).get(who))}
            hidden = self._is_hidden(item, who)
            items.append(
                {**shown, "given": self._given(item.name, who), "hidden": hidden, **(_unseen(item) if hidden else {})}
            )
        return {"role": "rater", "items": items}

    def _decisions(self) -> dict[str, Any]:
        """What is in dispute with the verdicts of all raters, without their names; progress and agreement."""
        history = self.log.history
        votes = latest(history)
        items = [
            {
                **self._shown(self.items[name]),
                "mine": None,
                "said": [_verdict(votes[name][who]) for who in self.lists[name]],
            }
            for name in queue(history, self.lists)
        ]
        if self._known[0] != len(history.entries):
            videos = {item.name: item.video for item in self.items.values()}
            rows, remark = agreement_of(history, videos)
            agreed = {"agreement": rows, "remark": remark, "people": self._people(history)}
            self._known = len(history.entries), agreed
        facts = {"progress": progress(history, self.raters, self.lists), **self._known[1]}
        return {"role": "adjudicator", "items": items, **facts}

    def _people(self, history: History) -> list[dict[str, Any]]:
        """How often people are right before they see the reference, without names or what somebody speaks against."""
        reviews = history.reviews()
        asked = [
            Scorable(item.name, item.patient, item.format, item.parameters, self._right(item), item.kinds)
            for item in self.items.values()
            if item.kinds and not reviews[item.name].against
        ]
        called = {("rater", name): f"Rater {number}" for number, name in enumerate(self.raters, start=1)}
        rows = human_ceiling(asked, history)[0].to_dicts()
        return [{**row, "name": called.get((row["level"], row["name"]), row["name"])} for row in rows]

    def _shown(self, item: Item) -> dict[str, Any]:
        film = self._films.get(item.video)
        return {
            "item": item.name,
            "number": self._numbers[item.name],
            "video": item.video,
            "question": item.question,
            "answer": self._right(item),
            "format": item.format,
            "options": item.options,
            "kinds": item.kinds,
            "window": item.window,
            "stretch": stretch_of(item),
            "film": film,
            "still": film is not None and self.material.video_files[item.video].suffix.lower() in STILLS,
            "moments": item.moments,
            "note": item.note,
        }


def _unseen(item: Item) -> dict[str, Any]:
    """What replaces that of an item which would give its answer away: the reference, and the moments of its proof."""
    return {"answer": None, "note": "", "moments": sorted({*item.window})}


def _verdict(entry: HistoryEntry | None) -> dict[str, str] | None:
    return None if entry is None else {"action": str(entry.action), "answer": entry.after, "note": entry.note}


def _wrong_answer(item: Item, right: str, answer: str) -> str | None:
    """Why a corrected answer cannot be one, or None."""
    if answer == right:
        return "that is the answer as it stands; approve it instead"
    return why_no_answer(item.format, item.parameters, item.options, answer)


def history_file(folder: Path) -> Path:
    """Where the history of a folder lies."""
    return folder / "history.csv"
