"""Every exception that surgvalid raises on purpose.

    SurgvalidError
    ├── Misuse                 an argument or option that cannot mean anything
    │   ├── UnknownName        a name nobody registered; carries the nearest one
    │   ├── EmptyShard         a part of the videos that has none
    │   ├── DirectionUnknown   whether larger or smaller values are better was never said
    │   ├── ExtraNeeded        an optional dependency is not installed
    │   ├── HiddenDataRefused  an engine that cannot keep hidden data in was asked to
    │   └── WouldOverwrite     an output exists and --force was not given, or is not ours
    ├── InputInvalid           a file or table that cannot be used; lists every problem
    │   ├── ImageRefused       an image archive that intake does not let in
    │   ├── WrongFile          a file that is recognisably another one, or answers other questions
    │   ├── FileUnreadable     not the format it claims to be (JSON, CSV, Parquet, encoding)
    │   ├── ProcedureInvalid   annotations of a procedure that cannot be true
    │   ├── QuestionsInvalid   requests or references that contradict themselves
    │   ├── TableInvalid       a score table that breaks its own rules
    │   ├── ContractBroken     a judge, metric, ... that does not keep the rules of its kind
    │   └── ResponsesMissing   questions without a response, where that was declared an error
    ├── EngineFailed           an engine could not start a run, keep its limits or end it
    ├── UploadRefused          a piece of an upload that is not the next one of its owner
    ├── OutputRefused          something a submission left behind that the host must not touch
    ├── OfficialAborts         the official toolkit would stop here; so does its profile
    ├── JudgeFailed            a judge could not be built or reached at all
    ├── PluginBroken           something that an installed package offers cannot be used
    ├── RunInterrupted         a run of a submission had to stop; what it has is stored, and it can go on
    └── TooFewVideos           nothing can be said about the spread between videos

A message says what is wrong, where, what was got and what to do.
"""

from __future__ import annotations

import difflib
import re
import shlex
from collections.abc import Iterable, Sequence

SHOWN_PROBLEMS = 9
"""Problems that a message lists one by one; more are counted by kind, and all stay in `.problems`."""
SHOWN_EXAMPLES = 3
SHOWN_KINDS = 20
_VARIES = re.compile(r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\S*\d\S*")
"""What differs between two problems of one kind: quoted words, identifiers in brackets, whatever has a digit."""


def _as_it_was(kind: type[SurgvalidError], args: tuple[object, ...], state: dict[str, object]) -> SurgvalidError:
    error = kind.__new__(kind, *args)
    vars(error).update(state)
    return error


class SurgvalidError(Exception):
    """Base of every deliberate error, so that one `except` can catch them all."""

    def __reduce__(self) -> tuple[object, ...]:
        """An error of a worker process arrives as it was, whatever it was made of."""
        return _as_it_was, (type(self), self.args, vars(self))


class Misuse(SurgvalidError):
    """An argument or option that cannot mean anything."""


class UnknownName(Misuse):
    """A name that nobody registered."""

    def __init__(self, kind: str, name: object, known: Iterable[str]) -> None:
        self.kind, self.name, self.known = kind, name, sorted(known)
        near = nearest(str(name), self.known)
        hint = f"did you mean {near!r}?" if near else f"known: {', '.join(self.known)}"
        shown = repr(name) if len(repr(name)) <= 80 else repr(name)[:79] + "…"
        super().__init__(f"unknown {kind} {shown}; {hint}")


class DirectionUnknown(Misuse):
    """Whether larger or smaller values of a metric are better was never said, and this cannot be done without."""

    def __init__(self, metric: str, *, otherwise: str = "name a registered metric") -> None:
        self.metric = metric
        option = " or ".join(f"--better {shlex.quote(f'{metric}={better}')}" for better in ("larger", "smaller"))
        super().__init__(
            f"whether larger or smaller values of {metric!r} are better is not known, so nothing can be called better; "
            f"say it with better='larger' or 'smaller' ({option}), or {otherwise} "
            "(surgvalid tools list scores)"
        )


class ExtraNeeded(Misuse):
    """An optional dependency is missing."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install surgvalid[{extra}]")


class EmptyShard(Misuse):
    """A part of the videos that has none."""

    def __init__(self, shard: object, videos: int) -> None:
        super().__init__(f"shard {shard} holds none of the {videos} videos; leave it out, combine does without it")


class WouldOverwrite(Misuse):
    """An output exists already."""

    def __init__(self, path: object, *, by_force: bool = True) -> None:
        way = "pass --force to overwrite it" if by_force else "move it away: no manifest lists it, so it is not ours"
        super().__init__(f"{path} exists already; choose another path or {way}")


class HiddenDataRefused(Misuse):
    """Hidden data and an engine that cannot keep it in."""

    def __init__(self, engine: str, lacking: Sequence[str]) -> None:
        self.engine, self.lacking = engine, list(lacking)
        super().__init__(
            f"engine {engine!r} must not see hidden data: it does not guarantee {', '.join(self.lacking)}; "
            "use podman or docker"
        )


class InputInvalid(SurgvalidError):
    """An input that cannot be used, with every problem found in it."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        self.where, self.problems = where, list(problems)
        count = len(self.problems)
        if count <= SHOWN_PROBLEMS:
            numbered = "" if count == 1 else f"{count} problems: "
            super().__init__(f"{where}: {numbered}{'; '.join(self.problems)}")
        else:
            lines = by_kind(self.problems)
            kinds = f"{len(lines)} kinds" if len(lines) > 1 else "one kind"
            super().__init__("\n  ".join([f"{where}: {count:,} problems of {kinds}:", *_cut(lines, SHOWN_KINDS)]))


class ImageRefused(InputInvalid):
    """An image archive that intake does not let in."""


class WrongFile(InputInvalid):
    """A file that is recognisably another one than it was given as, or whose identifiers all are others."""


class FileUnreadable(InputInvalid):
    """A file that is not what it claims to be."""


class ProcedureInvalid(InputInvalid):
    """Annotations of a procedure that cannot be true, or not of the shape they claim."""


class QuestionsInvalid(InputInvalid):
    """Requests or references that contradict themselves or each other."""


class TableInvalid(InputInvalid):
    """A score table that breaks its own rules."""


class ResponsesMissing(InputInvalid):
    """Questions without a response, where the caller declared that an error."""


class ContractBroken(InputInvalid):
    """A judge, metric, data set, ... that does not keep the rules of its kind; see `surgvalid.testing`."""


class OfficialAborts(InputInvalid):
    """The official toolkit stops on this input, so its profile does too."""


class EngineFailed(SurgvalidError):
    """An engine could not start a run, keep its limits or end it."""

    def __init__(self, engine: str, problem: str) -> None:
        self.engine, self.problem = engine, problem
        super().__init__(f"engine {engine!r}: {problem}")


class ProgramMissing(SurgvalidError):
    """What an image says it starts cannot be started: its own fault, and no failure of the engine."""


class UploadRefused(SurgvalidError):
    """An upload, or a piece of one, that is not as announced or not its sender's."""


class OutputRefused(SurgvalidError):
    """Something that a submission left behind and that the host must not touch."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"output {name!r} was not read: {problem}")


class JudgeFailed(SurgvalidError):
    """A judge could not be built, or could not be reached at all."""


class PluginBroken(SurgvalidError):
    """Something that an installed package offers and that cannot be used."""

    def __init__(self, kind: str, name: str, package: str, problem: str) -> None:
        self.kind, self.name, self.package, self.problem = kind, name, package, problem
        super().__init__(f"{kind} {name!r} of {package}: {problem}; update or uninstall that package")


class RunInterrupted(SurgvalidError):
    """A run had to stop; what was answered is stored and the run can go on."""


class TooFewVideos(SurgvalidError):
    """With so few videos the spread between videos cannot be known."""


def by_kind(problems: Iterable[str]) -> list[str]:
    """One line for each kind of problem: how many there are, and the first of them.

    Example:
        >>> by_kind(["row 1: no id", "[q7] no question", "row 4: no id", "row 8: no id", "row 9: no id"])
        ['4 like: row 1: no id; row 4: no id; row 8: no id', '[q7] no question']
    """
    kinds: dict[str, list[str]] = {}
    for problem in problems:
        kinds.setdefault(_VARIES.sub("", problem), []).append(problem)
    return [
        alike[0] if len(alike) == 1 else f"{len(alike):,} like: {'; '.join(alike[:SHOWN_EXAMPLES])}"
        for alike in kinds.values()
    ]


def _cut(lines: list[str], most: int) -> list[str]:
    return lines if len(lines) <= most else [*lines[:most], f"and {len(lines) - most:,} more kinds"]


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when nothing is close.

    Example:
        >>> nearest("copland", ["copeland", "mean-then-rank"])
        'copeland'
    """
    folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold()[:200], folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None
