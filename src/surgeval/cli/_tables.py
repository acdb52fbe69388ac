"""What the texts of shared options mean: names, mappings, directions."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from surgeval.errors import FileUnreadable, Misuse
from surgeval.schema.documents import read_json


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
        name = {"boot": "replicates"}.get(name.lstrip("-"), name.lstrip("-").replace("-", "_"))
        if not name or not reason or name in reasons:
            raise Misuse(f"--deviation: write OPTION=REASON once for each option, got {text!r}")
        reasons[name] = reason
    return reasons or None


def names_in(text: str) -> list[str]:
    """The parts of a comma-separated option.

    Example:
        >>> names_in("smoke, blood,")
        ['smoke', 'blood']
    """
    return [name.strip() for name in text.split(",") if name.strip()]


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
