"""Every exception that surgeval raises on purpose.

    SurgevalError
    ├── Misuse                 an argument or option that cannot mean anything
    │   ├── UnknownName        a name nobody registered; carries the nearest one
    │   ├── DirectionUnknown   whether larger or smaller values are better was never said
    │   ├── ExtraNeeded        an optional dependency is not installed
    │   ├── HiddenDataRefused  an engine that cannot keep hidden data in was asked to
    │   └── WouldOverwrite     an output exists and --force was not given, or is not ours
    ├── InputInvalid           a file or table that cannot be used; lists every problem
    │   ├── ImageRefused       an image archive that intake does not let in
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
import shlex
from collections.abc import Iterable, Sequence

SHOWN_PROBLEMS = 20
"""Problems spelled out in a message; the rest are counted, and all stay in `.problems`."""


class SurgevalError(Exception):
    """Base of every deliberate error, so that one `except` can catch them all."""


class Misuse(SurgevalError):
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

    def __init__(self, metric: str) -> None:
        self.metric = metric
        option = shlex.quote(f"{metric}=smaller")
        super().__init__(
            f"whether larger or smaller values of {metric!r} are better is not known, so nothing can be called better; "
            f"say it with better='larger' or 'smaller' (--better {option}), or name a registered metric "
            "(surgeval list scores)"
        )


class ExtraNeeded(Misuse):
    """An optional dependency is missing."""

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f"{what} needs {package}; install surgeval[{extra}]")


class WouldOverwrite(Misuse):
    """An output exists already."""

    def __init__(self, path: object, *, by_force: bool = True) -> None:
        way = "pass --force to overwrite it" if by_force else "move it away: no manifest lists it, so it is not ours"
        super().__init__(f"{path} exists already; choose another place or {way}")


class HiddenDataRefused(Misuse):
    """Hidden data and an engine that cannot keep it in."""

    def __init__(self, engine: str, lacking: Sequence[str]) -> None:
        self.engine, self.lacking = engine, list(lacking)
        super().__init__(
            f"engine {engine!r} must not see hidden data: it does not guarantee {', '.join(self.lacking)}; "
            "use podman or docker"
        )


class InputInvalid(SurgevalError):
    """An input that cannot be used, with every problem found in it."""

    def __init__(self, where: str, problems: Sequence[str]) -> None:
        self.where, self.problems = where, list(problems)
        shown = "; ".join(self.problems[:SHOWN_PROBLEMS])
        more = len(self.problems) - SHOWN_PROBLEMS
        tail = f"; and {more} more" if more > 0 else ""
        count = "" if len(self.problems) == 1 else f"{len(self.problems)} problems: "
        super().__init__(f"{where}: {count}{shown}{tail}")


class ImageRefused(InputInvalid):
    """An image archive that intake does not let in."""


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
    """A judge, metric, data set, ... that does not keep the rules of its kind; see `surgeval.testing`."""


class OfficialAborts(InputInvalid):
    """The official toolkit stops on this input, so its profile does too."""


class EngineFailed(SurgevalError):
    """An engine could not start a run, keep its limits or end it."""

    def __init__(self, engine: str, problem: str) -> None:
        self.engine, self.problem = engine, problem
        super().__init__(f"engine {engine!r}: {problem}")


class ProgramMissing(SurgevalError):
    """What an image says it starts cannot be started: its own fault, and no failure of the engine."""


class UploadRefused(SurgevalError):
    """An upload, or a piece of one, that is not as announced or not its sender's."""


class OutputRefused(SurgevalError):
    """Something that a submission left behind and that the host must not touch."""

    def __init__(self, name: str, problem: str) -> None:
        self.name, self.problem = name, problem
        super().__init__(f"output {name!r} was not read: {problem}")


class JudgeFailed(SurgevalError):
    """A judge could not be built, or could not be reached at all."""


class PluginBroken(SurgevalError):
    """Something that an installed package offers and that cannot be used."""

    def __init__(self, kind: str, name: str, package: str, problem: str) -> None:
        self.kind, self.name, self.package, self.problem = kind, name, package, problem
        super().__init__(f"{kind} {name!r} of {package}: {problem}; update or uninstall that package")


class RunInterrupted(SurgevalError):
    """A run had to stop; what was answered is stored and the run can go on."""


class TooFewVideos(SurgevalError):
    """With so few videos the spread between videos cannot be known."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """The known name most like `name`, or None when nothing is close.

    Example:
        >>> nearest("copland", ["copeland", "mean-then-rank"])
        'copeland'
    """
    folded = {candidate.casefold(): candidate for candidate in known}
    matches = difflib.get_close_matches(name.casefold()[:200], folded, n=1, cutoff=0.6)
    return folded[matches[0]] if matches else None
