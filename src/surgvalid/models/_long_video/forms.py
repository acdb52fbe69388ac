"""The texts that a question admits as answers, letter by letter, so that a decoder can be held to them.

A form is a small automaton. It knows which letters may come next, whether an answer may end here, and the shortest way
to an end: a decoder that runs out of time still gives a text that can be read.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import Any

States = frozenset[int]
LONGEST = 300
"""Letters of a free answer."""
_MOST_TIMES, _MOST_CLASSES = 20, 8
_CLOCK = r"\d{2}:[0-5]\d:[0-5]\d"
_DURATION = re.compile(
    r"\bhow (?:long|much time)|\bduration|\b(?:longest|shortest|total|average|mean|overall) (?:[a-z]+ )?time\b"
    r"|\btime (?:passe[ds]|elapse[ds]|is there|was there|lies|between)|\bfor what time\b",
    re.IGNORECASE,
)
_MOMENT = re.compile(r"\bwhen\b|\bat (?:what|which)\b|\ball times\b|\btimestamps?\b", re.IGNORECASE)
_TIME = re.compile(r"\b(\d{2}):([0-5]\d):([0-5]\d)\b")


class AnswerForm:
    """An automaton over letters.

    Args:
        pattern: The same texts as a regular expression, for servers that can be held to one; it may admit more.
        choices: All of them, where they are few.
        is_free: Whether any printable letter may come, up to `LONGEST` of them.
    """

    def __init__(self, pattern: str = "", *, choices: Sequence[str] = (), is_free: bool = False) -> None:
        self.pattern, self.choices, self.is_free = pattern, tuple(choices), is_free
        self._edges: list[dict[str, set[int]]] = [{}]
        self._jumps: list[set[int]] = [set()]
        self.ends: set[int] = {0} if is_free else set()

    @property
    def schema(self) -> dict[str, Any] | None:
        """For servers: an object whose only entry `answer` is in the form; None for free text."""
        if self.is_free:
            return None
        held = {"enum": list(self.choices)} if self.choices else {"pattern": f"^(?:{self.pattern})$"}
        entries = {"answer": {"type": "string", **held}}
        return {"type": "object", "properties": entries, "required": ["answer"], "additionalProperties": False}

    def admits(self, text: str) -> bool:
        """Whether a text is a whole answer."""
        return self.may_end(self.after(self.start, text))

    @property
    def start(self) -> States:
        """Before the first letter."""
        return self._closed({0})

    def add(self, options: Iterable[str], sources: Iterable[int] = (0,)) -> int:
        """The state behind any of several texts, each of which may follow any of the sources."""
        goal = self._new()
        for text in options:
            at = self._new()
            for source in sources:
                self._jumps[source].add(at)
            for letter in text:
                following = self._new()
                self._edges[at].setdefault(letter, set()).add(following)
                at = following
            self._jumps[at].add(goal)
        return goal

    def after(self, states: States, text: str) -> States:
        """The states behind a text; none where it leads astray."""
        if self.is_free:
            (count,) = states or (LONGEST + 1,)
            fits = text.isprintable() and count + len(text) <= LONGEST
            return frozenset((count + len(text),)) if fits else frozenset()
        for letter in text:
            states = self._closed({goal for state in states for goal in self._edges[state].get(letter, ())})
        return states

    def may_end(self, states: States) -> bool:
        """Whether the answer is whole."""
        return bool(states) and (self.is_free or not self.ends.isdisjoint(states))

    def letters(self, states: States) -> set[str]:
        """What may come next; for a free form nobody lists them."""
        return {letter for state in states for letter in self._edges[state]}

    def finished(self, states: States) -> str:
        """The shortest text that makes the answer whole from here, the first in order among equals."""
        if self.is_free:
            return ""
        waiting, seen = deque([(states, "")]), {states}
        while waiting:
            at, text = waiting.popleft()
            if self.may_end(at):
                return text
            for letter in sorted(self.letters(at)):
                following = self.after(at, letter)
                if following not in seen:
                    seen.add(following)
                    waiting.append((following, text + letter))
        raise ValueError("a form without any text")

    def _new(self) -> int:
        self._edges.append({})
        self._jumps.append(set())
        return len(self._edges) - 1

    def _closed(self, states: set[int]) -> States:
        waiting = list(states)
        while waiting:
            fresh = self._jumps[waiting.pop()] - states
            states |= fresh
            waiting += fresh
        return frozenset(states)


def one_of(options: Sequence[str]) -> AnswerForm:
    """One of several texts."""
    form = AnswerForm(choices=options)
    form.ends = {form.add(options)}
    return form


def some_of(options: Sequence[str], most: int, *, alone: Sequence[str] = ()) -> AnswerForm:
    """One or more of several texts with commas between, at most so many; or one that stands alone."""
    each = _either(options)
    lone = f"|{_either(alone)}" if alone else ""
    form = AnswerForm(f"{each}(?:, {each}){{0,{most - 1}}}{lone}")
    goal = form.add(options)
    form.ends = {goal}
    for _ in range(most - 1):
        goal = form.add(options, [form.add([", "], [goal])])
        form.ends.add(goal)
    if alone:
        form.ends.add(form.add(alone))
    return form


def times(*stretches: tuple[float, float], most: int = 1) -> AnswerForm:
    """One or more times hh:mm:ss within any of the stretches, and no other second."""
    form, source = AnswerForm(f"{_CLOCK}(?:, {_CLOCK}){{0,{most - 1}}}"), 0
    for number in range(most):
        goal = form._new()
        for start_s, end_s in stretches:
            form._jumps[_time(form, source, int(start_s), max(int(start_s), int(end_s)))].add(goal)
        form.ends.add(goal)
        if number + 1 < most:
            source = form.add([", "], [goal])
    return form


def _time(form: AnswerForm, source: int, low: int, high: int) -> int:
    """The state behind a time from `low` to `high`: for each state so far, whether it still runs along a bound."""
    bounds = [f"{s // 3600:02}{s // 60 % 60:02}{s % 60:02}" for s in (low, high)]
    at = {(True, True): source}
    for place in range(6):
        following: dict[tuple[bool, bool], int] = {}
        for (along_low, along_high), state in at.items():
            top = "5" if place in (2, 4) else "9"
            first, last = bounds[0][place] if along_low else "0", bounds[1][place] if along_high else top
            for digit in map(str, range(int(first), int(last) + 1)):
                key = (along_low and digit == first, along_high and digit == last)
                following.setdefault(key, form._new())
                step = form.add([digit + (":" if place in (1, 3) else "")], [state])
                form._jumps[step].add(following[key])
        at = following
    goal = form._new()
    for state in at.values():
        form._jumps[state].add(goal)
    return goal


def number() -> AnswerForm:
    """A count of up to three digits."""
    form = one_of([str(count) for count in range(1000)])
    form.pattern, form.choices = r"0|[1-9]\d{0,2}", ()
    return form


def percentage() -> AnswerForm:
    """A whole share from 0% to 100%."""
    return one_of([f"{share}%" for share in range(101)])


def matching(names: Sequence[str], options: Sequence[str]) -> AnswerForm:
    """`name: option` for each name, in order."""
    form, at = AnswerForm("; ".join(f"{re.escape(name)}: {_either(options)}" for name in names)), 0
    for place, name in enumerate(names):
        at = form.add(options, [form.add([f"{'; ' if place else ''}{name}: "], [at])])
    form.ends = {at}
    return form


def form_of(question: str, start_s: float, end_s: float, classes: Sequence[str]) -> tuple[str, AnswerForm]:
    """The format that the wording of a question asks for, by name, and its form; `open_ended` where no rule applies."""
    words = " ".join(question.split())
    for name, pattern, build in _RULES:
        if match := re.search(pattern, words, re.IGNORECASE):
            return name, build(match, start_s, end_s, classes)
    return "open_ended", AnswerForm(is_free=True)


def quoted_times(question: str) -> list[int]:
    """The seconds of all times that a question quotes."""
    return [3600 * int(h) + 60 * int(m) + int(s) for h, m, s in _TIME.findall(question)]


def _clock_form(match: re.Match[str], start_s: float, end_s: float, most: int = 1) -> AnswerForm:
    """Moments lie in the window, durations between nothing and its length; where the wording does not say, both do."""
    is_long, is_when = _DURATION.search(match.string), _MOMENT.search(match.string)
    stretches = [] if is_long and not is_when else [(start_s, end_s)]
    return times(*stretches, *([] if is_when and not is_long else [(0.0, end_s - start_s + 1)]), most=most)


def _either(options: Iterable[str]) -> str:
    return f"(?:{'|'.join(map(re.escape, options))})"


def _options(text: str) -> list[str]:
    return [option.strip() for option in re.split(r"[;|]|(?<!\d),", text.strip().rstrip(".")) if option.strip()]


_Build = Callable[[re.Match[str], float, float, Sequence[str]], AnswerForm]
_RULES: tuple[tuple[str, str, _Build], ...] = (
    (
        "matching",
        r"in the form '(.+?)' with one of (.+?) for each\.?$",
        lambda m, *_: matching([piece.partition(":")[0].strip() for piece in m[1].split(";")], _options(m[2])),
    ),
    (
        "multiple_choice",
        r"select (?:one|the (?:right|correct) (?:answer|option))[^:]*: *(.+)$",
        lambda m, *_: one_of(_options(m[1])),
    ),
    (
        "time",
        r"(?:all times|timestamps)[^.]*hh:mm:ss[^.]*\.?$",
        lambda m, start, end, __: _clock_form(m, start, end, _MOST_TIMES),
    ),
    ("time", r"hh:mm:ss", lambda m, start, end, __: _clock_form(m, start, end)),
    ("percentage", r"xx ?%|percentage|in percent|per cent", lambda *_: percentage()),
    ("binary", r"yes *(?:/|or) *no", lambda *_: one_of(["yes", "no"])),
    (
        "fo_class",
        r"class names|class name\(s\)|class(?:es)?[^.]*\bor none",
        lambda _, __, ___, classes: some_of(classes, _MOST_CLASSES, alone=["none"]),
    ),
    ("fo_class", r"class name", lambda _, __, ___, classes: one_of(classes)),
    ("number", r"\b(?:with|as) (?:a|the|one) (?:whole )?number|number \(|\bnumber\.?$", lambda *_: number()),
)
"""Name, what the wording must hold, and the form; the first that applies is taken."""
