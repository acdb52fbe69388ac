"""Looks at what only people can say: answered, not done, or open."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from surgeval.audit.evidence import Evidence, Look, Weight, failed, passed
from surgeval.audit.study import Study


def declared(key: str, about: str, *, weight: Weight = Weight.LOW, needed: bool = True) -> Look:
    """A look that passes where a question is answered, and fails where the answer is that it was not done.

    Args:
        key: Of the answer.
        about: What is looked at, in words.
        weight: Of the failure.
        needed: Whether the check cannot pass while the question is open.
    """
    return Look(about, _answered(key, about, weight), needed)


def _answered(key: str, about: str, weight: Weight) -> Callable[[Study], Iterator[Evidence]]:
    def look(study: Study) -> Iterator[Evidence]:
        answer = study.answer(key)
        if answer is False:
            yield failed(f"By the study's own word there is none: {about}.", weight=weight)
        else:
            yield passed(quoted(answer))

    return look


def quoted(answer: object) -> str:
    """What the study says, as a sentence that ends where the quotation ends."""
    words = "; ".join(map(str, answer)) if isinstance(answer, list) else str(answer)
    return f"The study says: “{words.strip().rstrip('.')}”."
