"""Any number of classes: a truth value under the name of each, or lists of names under keys.

Order counts for nothing. A class that is not mentioned has no answer, which is not the same as absent; a rule that the
caller chooses says what becomes of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from surgeval.tasks.parsing.json_objects import Held, last_list, last_object
from surgeval.tasks.parsing.names import ClassNames, folded
from surgeval.tasks.parsing.reading import Read, Reading, failed
from surgeval.tasks.parsing.values import truth
from surgeval.tasks.task import AnswerForm

KEY_RULES = ("abstain", "negative", "fail")
"""What becomes of a class that an answer does not mention: no answer, absent, or the whole answer failed."""
_NOTHING = frozenset({"null", "none", "nothing", "no", "n a", ""})


def read_labels(text: str, answer: AnswerForm, names: ClassNames, *, missing_keys: str = "abstain") -> Reading:
    """A truth value per class, None where the answer says nothing of it."""
    held = last_object(text)
    if held is None:
        listed = last_list(text) if answer.lists else None
        return _of_list(listed, answer, names) if listed else failed("no object in the answer")
    by_name = any(names.exact(str(key)) for key in _inner(held.value))
    if answer.lists and not by_name:
        return _of_lists(held, answer, names)
    return _of_keys(_inner(held.value), held.strict, answer, names, missing_keys)


def read_yes_no(text: str) -> bool | None:
    """The truth value of an answer to a single question; None where it is none, or both."""
    words = folded(text).split()
    yes, no = "yes" in words, "no" in words
    if yes != no:
        return yes
    stated = truth(text) if not yes else None
    return stated.holds if stated else None


def _inner(value: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The object within an object that holds nothing else, such as {"tools": {...}}."""
    only = next(iter(value.values())) if len(value) == 1 else None
    return only if isinstance(only, dict) else value


def _of_keys(
    value: Mapping[Any, Any], strict: bool, answer: AnswerForm, names: ClassNames, missing_keys: str
) -> Reading:
    labels: dict[str, bool | None] = dict.fromkeys(answer.classes)
    probabilities: dict[str, float] = {}
    seen: dict[str, set[bool | None]] = {}
    unknown, unread = [], []
    for key, given in value.items():
        name = names.exact(str(key))
        if name is None:
            unknown.append(str(key))
            continue
        held = truth(given)
        if held is None:
            unread.append(f"{name}: {str(given)[:30]!r}")
        elif held.probability is not None:
            probabilities[name] = held.probability
        seen.setdefault(name, set()).add(None if held is None else held.holds)
    for name, answers in seen.items():
        labels[name] = next(iter(answers)) if len(answers) == 1 else None
    if all(one is None for one in labels.values()):
        return failed(f"no class has a truth value; keys are {', '.join(map(repr, list(value)[:5])) or 'none'}")
    notes = [f"unknown keys: {', '.join(unknown[:5])}"] if unknown else []
    notes += [f"no truth value for {', '.join(unread[:5])}"] if unread else []
    silent = [name for name, one in labels.items() if one is None]
    if silent:
        notes.append(f"nothing is said of {', '.join(silent)}")
        if missing_keys == "fail":
            return failed(notes[-1], *notes)
        if missing_keys == "negative":
            labels = {name: bool(one) for name, one in labels.items()}
    scores = probabilities if len(probabilities) == len(answer.classes) else None
    return Reading(Read.OK if strict and not silent else Read.REPAIRED, labels, notes=tuple(notes), scores=scores)


def _of_lists(held: Held, answer: AnswerForm, names: ClassNames) -> Reading:
    """The names in the list under the key of the task; a null instrument means that nothing is there."""
    by_key = {folded(str(key)): one for key, one in held.value.items()}
    key = next((name for name in (folded(answer.key), f"{folded(answer.key)}s") if name in by_key), None)
    if key is None:
        return failed(f"no key {answer.key!r} in an object with {', '.join(map(repr, list(by_key)[:5])) or 'no keys'}")
    given = by_key[key] if isinstance(by_key[key], list) else [by_key[key]]
    return _of_list(Held(given, held.strict), answer, names)


def _of_list(held: Held, answer: AnswerForm, names: ClassNames) -> Reading:
    labels = dict.fromkeys(answer.classes, False)
    unknown = []
    for one in held.value:
        name = None if isinstance(one, dict | list | bool) else names.exact(str(one))
        if name is not None:
            labels[name] = True
        elif not isinstance(one, str) or folded(one) not in _NOTHING:
            unknown.append(str(one)[:30])
    if unknown and not any(labels.values()):
        return failed(f"none of {', '.join(map(repr, unknown[:5]))} is a class")
    notes = (f"unknown names: {', '.join(unknown[:5])}",) if unknown else ()
    return Reading(Read.OK if held.strict and not unknown else Read.REPAIRED, labels, notes=notes)
