"""In or out of distribution: as the file says, or derived by a declared rule.

The challenge defines OOD "with respect to procedure type and question"; its public data mark nothing,
and its participants disagreed on what it means. So the rule is named, applied to what training data
contain, and shown beside what the file states.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from surgeval.errors import Misuse, UnknownName
from surgeval.schema.foreign_objects import CLASS_NAMES
from surgeval.schema.question_files import QuestionSet
from surgeval.schema.questions import Reference, Request
from surgeval.scoring.templates import template_of

OodRule = Literal["stated", "procedure", "template", "either", "center"]
RULES: tuple[OodRule, ...] = ("stated", "procedure", "template", "either", "center")


@dataclass(frozen=True, slots=True)
class Seen:
    """What the training data contain."""

    procedures: frozenset[str]
    templates: frozenset[str]
    centers: frozenset[str]

    @classmethod
    def of(
        cls,
        requests: Sequence[Request],
        references: Sequence[Reference] = (),
        class_names: tuple[str, ...] = CLASS_NAMES,
    ) -> Seen:
        """What these training questions contain."""
        centers = frozenset(r.strata["center"] for r in references if "center" in r.strata)
        templates = frozenset(template_of(r.question, class_names=class_names) for r in requests)
        return cls(frozenset(_folded(r.procedure) for r in requests), templates, centers)


def derived_ood(questions: QuestionSet, rule: str, seen: Seen | None) -> list[bool | None]:
    """For every question, in the order of the references, whether it is out of distribution under `rule`.

    Args:
        questions: The question set.
        rule: `stated` (what the file says), `procedure`, `template`, `either` of the two, `center`.
        seen: What the training data contain; needed by every rule but `stated`.

    Raises:
        UnknownName: No such rule.
        Misuse: The rule needs training data, or centres that are not there.
    """
    if rule not in RULES:
        raise UnknownName("rule for OOD", rule, RULES)
    if rule == "stated":
        return [reference.ood for reference in questions.references.values()]
    if seen is None:
        raise Misuse(f"the OOD rule {rule!r} needs the training questions; pass --train-requests")
    if rule == "center" and not seen.centers:
        raise Misuse("the OOD rule 'center' needs training references with a 'center'; pass --train-references")
    return [_is_unseen(questions, case, rule, seen) for case in questions.references]


def _is_unseen(questions: QuestionSet, case: str, rule: str, seen: Seen) -> bool | None:
    request = questions.requests[case]
    if rule == "center":
        center = questions.references[case].strata.get("center")
        return None if center is None else center not in seen.centers
    new_procedure = _folded(request.procedure) not in seen.procedures
    if rule == "procedure":
        return new_procedure
    new_template = template_of(request.question, class_names=questions.class_names) not in seen.templates
    return new_template if rule == "template" else new_procedure or new_template


def _folded(name: str) -> str:
    return " ".join(name.casefold().split())
