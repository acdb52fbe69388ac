"""Names of classes in answers: compared by their letters, in the plural or not, by whole words only.

`G1` is not in `G10`, and `clip` is not in `clipper`: a name counts where no letter or digit touches it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

_APART = re.compile(r"[\W_]+")
_NUMBER_AT_END = re.compile(r"[\s_-]*\d+$")
_NOT = re.compile(
    r"\b(?:not|isn't|isnt|no|never|neither|nor|without|cannot be|can't be|rather than)(?:\s+\w+){0,2}\s*$"
)

_REACH = 80
"""Letters before a name within which it can be denied: a few words."""


def folded(name: str) -> str:
    """A name as it is compared: small letters, words apart by one blank.

    Example:
        >>> folded("Calot_Triangle-Dissection "), folded("Cleaning & Coagulation")
        ('calot triangle dissection', 'cleaning coagulation')
    """
    return _APART.sub(" ", str(name)).strip().casefold()


class ClassNames:
    """The classes of a task and everything that stands for one of them."""

    def __init__(self, classes: Sequence[str], synonyms: Mapping[str, str] | None = None) -> None:
        self.classes = tuple(classes)
        spelled: dict[str, set[str]] = {}
        for name in classes:
            for form in _forms(folded(name)):
                spelled.setdefault(form, set()).add(name)
        for word, name in (synonyms or {}).items():
            spelled.setdefault(folded(word), set()).add(name)
        exact = {folded(name): name for name in classes}
        self._known = {form: next(iter(names)) for form, names in spelled.items() if len(names) == 1} | exact
        longest = sorted(self._known, key=len, reverse=True)
        self._words = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_])") if longest else None

    def exact(self, text: str) -> str | None:
        """The class that a text names and nothing else."""
        return self._known.get(folded(text))

    def object(self, text: str) -> str | None:
        """The class of a numbered object, such as `tool2`."""
        return self.exact(text) or self.exact(_NUMBER_AT_END.sub("", str(text)))

    def within(self, text: str) -> list[str]:
        """Every class that a text names by whole words, longest names first; none is taken out of a longer one."""
        if self._words is None:
            return []
        return list(dict.fromkeys(self._known[match] for match in self._words.findall(folded(text))))

    def denied(self, text: str) -> bool:
        """Whether a text says of a class that it is not the answer."""
        small = _APART.sub(" ", text.replace("n't", " not")).casefold()
        if self._words is None:
            return False
        starts = (match.start() for match in self._words.finditer(small))
        return any(_NOT.search(small, max(0, start - _REACH), start) for start in starts)


def _forms(name: str) -> set[str]:
    """A name, and its plural or singular."""
    forms = {name, f"{name}s"}
    if name.endswith("s") and len(name) > 3:
        forms.add(name[:-1])
    if name.endswith("y"):
        forms.add(f"{name[:-1]}ies")
    return forms | {form.replace(" ", "") for form in forms if " " in form}
