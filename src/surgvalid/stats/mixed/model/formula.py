"""What a mixed model says: outcome, fixed terms, random intercepts and slopes, offset and weights.

The formula language is the part of R's that these models need:

    tp / reference ~ smoke + blood + smoke:blood + (1 | algorithm) + (1 | patient / image)
    correct ~ difficulty * phase + offset(exposure) + (difficulty || video) + (1 | model)

`a * b` stands for `a + b + a:b`, `(1 | a / b)` for `(1 | a) + (1 | a:b)`, `(0 + x | g)` for an effect of x that varies
between the levels of g, `(x || g)` for `(1 | g) + (0 + x | g)`, and `C(a)` makes categories of a column of numbers.
Correlated slopes, `(x | g)`, are refused.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple

from surgvalid.errors import Misuse

FamilyName = Literal["binomial", "poisson", "gaussian", "ordered-beta"]
_NAME = re.compile(r"[^\s+*:~|()/,](?:[^\n+*:~|()/,]*[^\s+*:~|()/,])?")
"""A column name: anything without the signs of the formula language; spaces inside are fine."""


class Slope(NamedTuple):
    """A random slope: the effect of a column of numbers that varies between the levels of a grouping."""

    column: str
    group: str

    def __str__(self) -> str:
        return f"0 + {self.column} | {self.group}"


@dataclass(frozen=True)
class ModelFormula:
    """A model, by names of columns.

    Example:
        >>> ModelFormula.parse("tp / reference ~ smoke + (1 | patient / image)", family="binomial")
        ModelFormula(outcome='tp', trials='reference', fixed=('smoke',), random=('patient', 'patient:image'), \
offset=None, weights=None, family='binomial', slopes=())
    """

    outcome: str
    trials: str | None = None
    fixed: tuple[str, ...] = ()
    random: tuple[str, ...] = ()
    offset: str | None = None
    weights: str | None = None
    family: FamilyName = "binomial"
    slopes: tuple[Slope, ...] = ()

    @classmethod
    def parse(cls, text: str, *, family: FamilyName = "binomial", weights: str | None = None) -> ModelFormula:
        """The model that a formula describes.

        Raises:
            Misuse: With the part of the formula that has no meaning here.
        """
        if text.count("~") != 1:
            raise Misuse(f"formula {text!r} needs one '~' between outcome and terms")
        left, right = (side.strip() for side in text.split("~"))
        outcome, *trials = (name.strip() for name in left.split("/"))
        if len(trials) > 1 or not all(_NAME.fullmatch(name) for name in (outcome, *trials)):
            raise Misuse(f"outcome {left!r} must be a column, or successes / trials")
        fixed: list[str] = []
        random: list[str | Slope] = []
        offset = None
        for term in _split(right):
            if "|" in term:
                random += _random(term)
            elif match := re.fullmatch(r"offset\((.+)\)", term):
                offset = _names([match[1]])[0]
            elif term not in ("1", ""):
                fixed += _fixed(term)
        groups, slopes = _parted(random)
        return cls(outcome, trials[0] if trials else None, _unique(fixed), groups, offset, weights, family, slopes)

    @property
    def columns(self) -> tuple[str, ...]:
        """Every column the model uses, each once, in order of mention."""
        named = (*self.fixed, *self.random, *(column for slope in self.slopes for column in slope))
        terms = [column_of(variable) for term in named for variable in term.split(":")]
        singles = [self.outcome, self.trials, *terms, self.offset, self.weights]
        return _unique(name for name in singles if name is not None)

    def __str__(self) -> str:
        left = self.outcome if self.trials is None else f"{self.outcome} / {self.trials}"
        offset = [f"offset({self.offset})"] if self.offset else []
        random = (*(f"(1 | {name})" for name in self.random), *(f"({slope})" for slope in self.slopes))
        terms = [*(self.fixed or ("1",)), *offset, *random]
        return f"{left} ~ {' + '.join(terms)}"


def column_of(name: str) -> str:
    """The column a part of a term reads: `phase` for `phase` and for `C(phase)`."""
    return name[2:-1].strip() if name.startswith("C(") and name.endswith(")") else name


def _split(text: str) -> list[str]:
    """Terms at plus signs outside parentheses."""
    terms, depth, current = [], 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "+" and depth == 0:
            terms.append(current.strip())
            current = ""
        else:
            current += character
    if depth != 0:
        raise Misuse(f"formula {text!r} has unbalanced parentheses")
    return [*terms, current.strip()]


def _fixed(term: str) -> list[str]:
    if term == "0" or term.startswith("-"):
        raise Misuse(f"term {term!r}: models without an intercept are not supported; leave it out")
    if "*" in term:
        names = _parts(term.split("*"))
        if len(names) > 2:
            raise Misuse(f"term {term!r}: write interactions of three or more columns with ':'")
        return [*names, ":".join(names)]
    return [":".join(_parts(term.split(":")))]


def random_terms(names: Iterable[str]) -> tuple[tuple[str, ...], tuple[Slope, ...]]:
    """Random intercepts and slopes from plain names such as `patient`, `algorithm:instance` or `0 + smoke | patient`.

    Raises:
        Misuse: For anything that is neither, such as a correlated slope.
    """
    return _parted(term for name in names for term in (_random(f"({name})") if "|" in name else _groups(name)))


def _parted(terms: Iterable[str | Slope]) -> tuple[tuple[str, ...], tuple[Slope, ...]]:
    """Intercepts and slopes, each once."""
    kept = dict.fromkeys(terms)
    groups = tuple(term for term in kept if not isinstance(term, Slope))
    return groups, tuple(term for term in kept if isinstance(term, Slope))


def _random(term: str) -> list[str | Slope]:
    inner = re.sub(r"^\(+(.*?)\)+$", r"\1", term.strip())
    left, bars, right = inner.partition("||" if "||" in inner else "|")
    if not bars or "|" in right:
        raise Misuse(f"random term {term!r} must look like (1 | group) or (0 + column | group)")
    column, zero = re.sub(r"^[01]\s*\+\s*", "", left.strip()), re.match(r"0\s*\+", left.strip())
    if column == "1" and bars == "|":
        return list(_groups(right))
    name, group = _names([column])[0], ":".join(_names(right.split(":")))
    if bars == "|" and not zero:
        raise Misuse(
            f"random term {term!r} asks for slopes that are correlated with the intercepts, which are not fitted. "
            f"Write ({name} || {group}) for (1 | {group}) + (0 + {name} | {group})"
        )
    return [Slope(name, group)] if zero else [group, Slope(name, group)]


def _groups(text: str) -> list[str]:
    levels = [_names(group.split(":")) for group in text.split("/")]
    return [":".join(name for names_at in levels[: depth + 1] for name in names_at) for depth in range(len(levels))]


def _parts(parts: Iterable[str]) -> list[str]:
    """Names, or `C(name)`, of a fixed term."""
    stripped = [name.strip() for name in parts]
    names = _names(column_of(name) for name in stripped)
    if "1" in names:
        raise Misuse("'1' is the intercept, which every model has; rename a column of that name")
    if repeated := next((name for name in names if names.count(name) > 1), None):
        raise Misuse(f"a term names {repeated!r} twice; a column has no interaction with itself")
    return [f"C({column_of(name)})" if name != column_of(name) else name for name in stripped]


def fixed_terms(names: Iterable[str]) -> tuple[str, ...]:
    """Fixed terms from plain texts such as `smoke`, `C(phase)` or `smoke:blood`.

    Raises:
        Misuse: For anything that is no term.
    """
    return _unique(term for name in names for term in _fixed(name.strip()))


def _names(parts: Iterable[str]) -> list[str]:
    names = [name.strip() for name in parts]
    for name in names:
        if not _NAME.fullmatch(name):
            raise Misuse(
                f"{name!r} cannot be a name in a model: names are joined by '+', ':' or '*', and none of + * : ~ | ( ) "
                "/ or a comma is part of one. Give a column of that name another one (option columns)"
            )
    return names


def _unique(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(names))
