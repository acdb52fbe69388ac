"""The names of classes in a text: by their letters and whole words only.

`G1` is not in `G10`, and `clip` is not in `clipper`: a name counts where no letter or digit touches it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NamedTuple

_APART = re.compile(r"(?:(?<!there)(?<!it)(?<!that)(?<!what)['’]s\b)?[\W_]+", re.IGNORECASE)
_CHINESE = re.compile(r"([\u3040-\u30ff\u4e00-\u9fff])")
ANOTHER = r"(?! (?:appli|applicat|hold|driv|grasp)[eo]rs?\b)"
"""After a name: it is not the first word of an instrument."""
_ARTICLE = re.compile(r"(?:the|a) ", re.IGNORECASE)
_NEGATIVE = re.compile(r"\s*[-−]\d")
_NUMBER_AT_END = re.compile(r"[\s_-]*\d+$")


def folded(name: str) -> str:
    """A name as it is compared: small letters, words apart by one blank.

    Example:
        >>> folded("Calot_Triangle-Dissection "), folded("Cleaning & Coagulation")
        ('calot triangle dissection', 'cleaning coagulation')
    """
    return _APART.sub(" ", _CHINESE.sub(r" \1 ", str(name))).strip().casefold()


class Mention(NamedTuple):
    """A class that a text names, and where in the folded text."""

    name: str
    start: int
    end: int


class ClassNames:
    """The classes of a task and everything that stands for one of them."""

    def __init__(self, classes: Sequence[str], synonyms: Mapping[str, str] | None = None) -> None:
        self.classes = tuple(classes)
        spelled: dict[str, set[str]] = {}
        for name in classes:
            for form in _forms(folded(name)):
                spelled.setdefault(form, set()).add(name)
        for word, name in (synonyms or {}).items():
            for form in _forms(folded(word)):
                spelled.setdefault(form, set()).add(name)
        exact = {folded(name): name for name in classes}
        self._known = {form: next(iter(names)) for form, names in spelled.items() if len(names) == 1 and form} | exact
        longest = sorted(filter(None, self._known), key=len, reverse=True)
        self._words = (
            re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, longest))})(?![^\W_]){ANOTHER}") if longest else None
        )

    def exact(self, text: str) -> str | None:
        """The class that a text names and nothing else; a question names none."""
        if "?" in text or _NEGATIVE.match(text):
            return None
        plain = folded(text)
        return self._known.get(plain) or self._known.get(_ARTICLE.sub("", plain) if _ARTICLE.match(text) else plain)

    def object(self, text: str) -> str | None:
        """The class of a numbered object, such as `tool2`."""
        return self.exact(text) or self.exact(_NUMBER_AT_END.sub("", str(text)))

    def mentions(self, plain: str) -> list[Mention]:
        """Every class that a folded text names by whole words; none is taken out of a longer one."""
        if self._words is None:
            return []
        return [Mention(self._known[one[0]], one.start(), one.end()) for one in self._words.finditer(plain)]


def _forms(name: str) -> set[str]:
    """A name, and its plural or singular."""
    forms = {name, f"{name}s"}
    if name.endswith("s") and len(name) > 3:
        forms.add(name[:-1])
    if name.endswith("y"):
        forms.add(f"{name[:-1]}ies")
    words = name.split()
    if len(words) == 2:
        forms |= {" and ".join(words), f"{words[0]}s {words[1]}", f"{words[0]}ing {words[1]}"}
    return forms | {form.replace(" ", "") for form in forms if " " in form}
