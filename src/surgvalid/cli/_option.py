"""What an option of the command line is: its flag, type, text and default, and how its text becomes an argument.

Some options have parts: `--assume sd=0.2,icc=0.3`. A part is an option of its own here, with type, text and default, so
that verbs list parts as they list options; on the command line the parts of one flag are one option, which may be
repeated.
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Any, NamedTuple, get_args

from surgvalid.errors import FileUnreadable, Misuse, UnknownName
from surgvalid.schema.documents import read_json

NEEDED = inspect.Parameter.empty
"""In place of a default: the option must be given."""


def as_given(value: Any) -> Any:
    """The value of an option that the function takes as it is."""
    return value


def some(value: Any) -> Any:
    """The value, or None where there is nothing in it."""
    return value or None


class Option(NamedTuple):
    """An option, an argument by its place (without a flag), or a part of an option."""

    flag: str
    text: str
    kind: Any = str | None
    default: Any = None
    read: Callable[[Any], Any] = as_given
    """What the function is given for it."""
    argument: str = ""
    """What the function calls it, where that is another name."""
    metavar: str | None = None
    component: str = ""
    """Its name among the parts of the flag; the part that has the name of the flag needs no name before its value."""
    role: str = ""
    """The column of a score table that it names."""
    own_default: bool = False
    """Where it is not given, nothing is handed over: the default is that of the function."""
    limits: tuple[float | None, float | None] = (None, None)
    """The least and the largest number."""
    env: str = ""
    """The variable of the environment that is read where it is not given."""
    source: bool = False
    """Whether its texts are FILE or NAME=FILE."""


FILE, FILES, TEXTS, NUMBER, COUNT = Path | None, list[Path] | None, list[str] | None, float | None, int | None


def place(
    metavar: str, text: str, kind: Any = Path, default: Any = NEEDED, argument: str = "", *, source: bool = False
) -> Option:
    """An argument by its place."""
    return Option("", text, kind, default, argument=argument, metavar=metavar, source=source)


def component(flag: str, name: str, text: str, kind: Any = str | None, default: Any = None, **more: Any) -> Option:
    """A part of an option."""
    return Option(flag, text, kind, default, component=name, **more)


def switch(name: str, text: str, argument: str = "", flag: str = "--with") -> Option:
    """Something that `--with` adds, or `--without` leaves out."""
    return Option(flag, text, bool, flag == "--without", component=name, argument=argument)


def names(flag: str, text: str, argument: str = "", metavar: str = "A,B,...") -> Option:
    """An option that takes names, separated by commas."""
    return Option(flag, text, str, "", names_in, argument, metavar)


def names_in(text: str) -> list[str]:
    """The parts of a comma-separated option.

    Example:
        >>> names_in("smoke, blood,")
        ['smoke', 'blood']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


def tidy(path: Path) -> Path:
    """A path as every verb takes it: `~` is the home folder, and `.` and `..` have the names of their folders.

    Others stay relative, as manifests keep them.

    Example:
        >>> tidy(Path("~/a/")) == Path.home() / "a", tidy(Path(".")) == Path.cwd(), tidy(Path("a/b"))
        (True, True, PosixPath('a/b'))
    """
    try:
        path = path.expanduser()
    except RuntimeError:  # a user that this machine does not know: the name of a folder
        return path
    return Path(os.path.abspath(path)) if path.name in ("", "..") else path  # not resolved: links keep their names


def tidied(value: Any, *, source: bool = False) -> Any:
    """The value of an option with its paths as every verb takes them; texts may be sources, FILE or NAME=FILE.

    Example:
        >>> tidied(["a=~/b", "c"], source=True) == [f"a={Path.home() / 'b'}", "c"]
        True
    """
    if isinstance(value, Path):
        return tidy(value)
    if isinstance(value, str) and source:
        name, equals, path = value.rpartition("=")
        return f"{name}{equals}{tidy(Path(path))}" if path else value
    return [tidied(one, source=source) for one in value] if isinstance(value, list | tuple) else value


def read_parts(flag: str, texts: Sequence[str], parts: Mapping[str, Option]) -> dict[str, Any]:
    """The values of the parts that the texts of an option name, by the names that rows use.

    Example:
        >>> sd = Option("--assume", "Spread.", float | None, component="sd")
        >>> read_parts("--assume", ["sd=0.2"], {"spread": sd})
        {'spread': 0.2}

    Raises:
        UnknownName: A part that the verb does not have.
        Misuse: A part twice, or a value that is none of its kind.
    """
    by_name = {option.component: name for name, option in parts.items()}
    values: dict[str, Any] = {}
    for text in texts:
        for name_in_text, value in _pairs(flag, text, by_name):
            if name_in_text not in by_name:
                raise UnknownName(f"part of {flag}", name_in_text, by_name)
            name, kind = by_name[name_in_text], parts[by_name[name_in_text]].kind
            if _plain(kind) is list:
                values.setdefault(name, []).append(_converted(flag, parts[name], value or ""))
            elif name in values:
                raise Misuse(f"{flag}: {name_in_text!r} is given twice")
            elif value is None and _plain(kind) is not bool:
                raise Misuse(f"{flag}: write {name_in_text}=VALUE")
            else:
                values[name] = flag != "--without" if value is None else _converted(flag, parts[name], value)
    return values


FREE = ("--entry",)
"""Options whose parts are free text, in which commas stand for themselves: one part each time."""


def _pairs(flag: str, text: str, known: Mapping[str, str]) -> list[tuple[str, str | None]]:
    """Parts and their values; a word alone is a switch, or the value of the part that the option is called after."""
    head = flag.lstrip("-").replace("-", "_")
    if "=" not in text and head in known and text not in known:
        return [(head, text)]
    pairs: list[tuple[str, str | None]] = []
    for piece in [text] if flag in FREE else filter(None, (one.strip() for one in text.split(","))):
        name, equals, value = (side.strip() for side in piece.partition("="))
        name = name.replace("-", "_")
        alone = (head, piece) if name not in known and head in known else (name, None)
        pairs.append((name, value) if equals else alone)
    return pairs


def _plain(kind: Any) -> Any:
    """The type of a value that is there: `float` of `float | None`, `list` of `list[str]`."""
    inner = get_args(kind)[0] if isinstance(kind, UnionType) else kind
    return getattr(inner, "__origin__", inner)


def _converted(flag: str, option: Option, text: str) -> Any:
    kind = _plain(option.kind)
    if kind is list:
        (kind,) = get_args(get_args(option.kind)[0] if isinstance(option.kind, UnionType) else option.kind)
    if kind is bool:
        if text not in ("yes", "no"):
            raise Misuse(f"{flag} {option.component}: yes or no, got {text!r}")
        return text == "yes"
    try:
        value = kind(text)
    except ValueError:
        raise Misuse(f"{flag} {option.component}: {text!r} is no {'whole ' if kind is int else ''}number") from None
    least, most = option.limits
    if (least is not None and value < least) or (most is not None and value > most):
        raise Misuse(f"{flag} {option.component}: must be {_between(least, most)}, got {text}")
    return value


def _between(least: float | None, most: float | None) -> str:
    return " and ".join(
        f"{word} {bound:g}" for word, bound in (("at least", least), ("at most", most)) if bound is not None
    )


def read_columns(text: str) -> dict[str, str]:
    """The mapping in a text such as `model=algorithm,video=patient`.

    Example:
        >>> read_columns("model=algorithm, video=patient")
        {'model': 'algorithm', 'video': 'patient'}

    Raises:
        Misuse: A part that is no `ours=theirs`, or a name given twice.
    """
    return read_named("--columns", text, form="OURS=THEIRS", example="model=algorithm,video=patient")


def read_named(
    option: str, text: str, *, form: str = "NAME=WHAT", example: str = "precision=tp/predicted,recall=tp/reference"
) -> dict[str, str]:
    """The mapping in a text of parts `name=what`, separated by commas.

    Raises:
        Misuse: A part of another form, or a name given twice.
    """
    mapping: dict[str, str] = {}
    for pair in names_in(text):
        name, equals, what = (piece.strip() for piece in pair.partition("="))
        if not (name and equals and what):
            raise Misuse(f"{option}: {pair!r} is not {form}; write for example {example}")
        if name in mapping:
            raise Misuse(f"{option}: {name!r} is given twice")
        mapping[name] = what
    return mapping


def read_better(given: Sequence[str] | None) -> str | dict[str, str] | None:
    """The directions in the texts of `--better`: one word for the metric at hand, or one for each by name.

    Example:
        >>> read_better(["smaller"]), read_better(["hd95=smaller", "dice=larger"])
        ('smaller', {'hd95': 'smaller', 'dice': 'larger'})

    Raises:
        Misuse: A bare word beside others, or a metric named twice.
    """
    pairs = [text.rpartition("=") for text in given or ()]
    if len(pairs) == 1 and not pairs[0][1]:
        return pairs[0][2].strip()
    names = [name.strip() for name, _, _ in pairs]
    if not all(names) or len(set(names)) < len(names):
        raise Misuse(
            f"--better: write METRIC=larger or METRIC=smaller once for each metric, got {', '.join(given or ())}"
        )
    return {name: word.strip() for name, (_, _, word) in zip(names, pairs, strict=True)} or None


def read_deviations(given: Sequence[str] | None) -> dict[str, str] | None:
    """The reasons in the texts of `--deviation`, by option; an option may be named as on the command line.

    Example:
        >>> read_deviations(["task-column=the table has none"])
        {'task_column': 'the table has none'}

    Raises:
        Misuse: A text without a reason, or an option named twice.
    """
    reasons: dict[str, str] = {}
    for text in given or ():
        name, _, reason = (piece.strip() for piece in text.partition("="))
        name = {"resamples": "replicates"}.get(name.lstrip("-"), name.lstrip("-").replace("-", "_"))
        if not name or not reason or name in reasons:
            raise Misuse(f"--deviation: write OPTION=REASON once for each option, got {text!r}")
        reasons[name] = reason
    return reasons or None


def read_numbers(option: str, text: str) -> list[float]:
    """The numbers of a comma-separated option.

    Example:
        >>> read_numbers("--thresholds", "0.5, 0.9")
        [0.5, 0.9]

    Raises:
        Misuse: A part that is no number.
    """
    try:
        return [float(number) for number in names_in(text)]
    except ValueError:
        raise Misuse(f"{option}: {text!r} is no list of numbers; write for example 0.5,0.9") from None


def whole_numbers(option: str, text: str) -> list[int]:
    """The whole numbers of a comma-separated option.

    Example:
        >>> whole_numbers("--videos", "20, 40")
        [20, 40]

    Raises:
        Misuse: A part that is no whole number.
    """
    try:
        return [int(number) for number in names_in(text)]
    except ValueError:
        raise Misuse(f"{option}: {text!r} is no list of whole numbers; write for example 20,40") from None


def read_weights(path: Path | None) -> dict[str, float] | None:
    """The mapping from name to weight in a JSON file; None without one.

    Raises:
        FileUnreadable: No such file, no JSON, or no object; a bare list of weights does not say which is which.
    """
    if path is None:
        return None
    data = read_json(path)
    if not isinstance(data, dict):
        raise FileUnreadable(str(path), [f'expected an object such as {{"NAME": 2}}, got {type(data).__name__}'])
    return {str(key): value for key, value in data.items()}


def read_slopes(text: str) -> bool | list[str]:
    """What `--slopes` says: all, none, or the properties named.

    Example:
        >>> read_slopes("all"), read_slopes("none"), read_slopes("smoke, blood")
        (True, False, ['smoke', 'blood'])
    """
    return {"all": True, "none": False}.get(text.strip(), names_in(text))


def read_bins(text: str) -> dict[str, list[float]]:
    """The bins in a text such as `window_s=30:300`.

    Example:
        >>> read_bins("window_s=30:300")
        {'window_s': [30.0, 300.0]}

    Raises:
        Misuse: A part that cannot be read.
    """
    bins: dict[str, list[float]] = {}
    for pair in names_in(text):
        name, equals, edges = pair.partition("=")
        try:
            bins[name.strip()] = [float(edge) for edge in edges.split(":")]
        except ValueError:
            equals = ""
        if not equals:
            raise Misuse(f"--bins: {pair!r} is not COL=EDGE:EDGE; write for example window_s=30:300")
    return bins


def one_or_none(text: str) -> str | None:
    """The text of an option that takes one thing."""
    return text.strip() or None


def one_number(option: str, text: str) -> float | None:
    """The number of an option that others give several to.

    Raises:
        Misuse: There are several, or it is none.
    """
    numbers = read_numbers(option, text)
    if len(numbers) > 1:
        raise Misuse(f"{option}: one number is used here, got {text}")
    return numbers[0] if numbers else None


def read_label(text: str | None) -> int | None:
    """The label whose pixels do not count.

    Raises:
        Misuse: It is no whole number.
    """
    if text is not None and not text.strip().isdecimal():
        raise Misuse(f"--ignore: a label is a whole number here, got {text!r}")
    return None if text is None else int(text)


def read_null(text: str | None) -> str:
    """What becomes of null triplets.

    Raises:
        Misuse: Something else is to be ignored.
    """
    if text not in (None, "null"):
        raise Misuse(f"--ignore: only null can be ignored here, got {text!r}")
    return "keep" if text is None else "drop"


def read_pairs(option: str, pairs: Sequence[str] | None) -> dict[str, float] | None:
    """The numbers in texts NAME=NUMBER, by name; None where there are none.

    Example:
        >>> read_pairs("--task-weight", ["a=2", "b=0.5"])
        {'a': 2.0, 'b': 0.5}

    Raises:
        Misuse: A text of another form, a name given twice, or no number.
    """
    numbers: dict[str, float] = {}
    for pair in pairs or ():
        name, equals, number = (side.strip() for side in pair.partition("="))
        if not (name and equals and number):
            raise Misuse(f"{option} expects name=value, got {pair!r}")
        if name in numbers:
            raise Misuse(f"{option}: {name!r} is given twice")
        try:
            numbers[name] = float(number)
        except ValueError:
            raise Misuse(f"{option} expects a number, got {name}={number}") from None
    return numbers or None
