"""Classes under other names: crossed, shifted by one, or all called alike; told from counts of every video.

`table[video, reference, prediction]` counts cases (frames, pixels, or boxes that lie on each other). The assignment of
names with the largest recalls falls into cycles, and each is judged apart: two crossed classes of ten lower no mean by
much. A shift loses the class at the end, which no assignment can see, and is tried by itself.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence

import numpy as np
from scipy.optimize import linear_sum_assignment

from surgvalid.errors import Misuse
from surgvalid.evaluation.sanity.sanity_finding import Looked, SanityFinding
from surgvalid.evaluation.video_names import first_few
from surgvalid.metrics.metric import Floats, Indices
from surgvalid.schema.findings import Severity

FEWEST = 5
"""Cases of a class below which it is not looked at."""
LEAST_RECALL, LEAST_GAIN, LEAST_VIDEOS, MERGED = 0.4, 0.3, 0.7, 0.9


def class_checks(table: Floats, names: Sequence[str]) -> Looked:
    """Both checks of counts `[video, reference, prediction]`."""
    return {"labels-renamed": renamed(table, names), "classes-merged": merged(table, names)}


def renamed(table: Floats, names: Sequence[str]) -> SanityFinding | None:
    """Whether predictions would agree under other names."""
    count = len(names)
    if count < 2 or not table.any():
        return None
    total = table.sum(axis=0)
    cases = total.sum(axis=1)
    recall = total / np.maximum(cases, 1)[:, None]
    wanted = np.where((cases >= FEWEST)[:, None], recall, 0.0) + 1e-6 * np.eye(count)
    column = linear_sum_assignment(wanted, maximize=True)[1]
    if strange := _strangers(total, column, names):
        return strange
    for step in (1, -1):
        chain = [c for c in range(count) if 0 <= c + step < count and cases[c] >= FEWEST]
        lost = total[:, 0 if step > 0 else -1].sum()  # by no shift is the first, or the last, ever predicted
        if len(chain) > 1 and not lost and _shifted(table, np.array(chain), np.array(chain) + step):
            where = "later" if step > 0 else "earlier"
            evidence = (
                f"The predictions name every class by the one 1 place {where} in the list: "
                f"{_listed(recall, chain, [c + step for c in chain], names)}."
            )
            hint = f"Does one side count from 0 and the other from 1? {_mend(names, chain, [c + step for c in chain])}"
            return SanityFinding("labels-renamed", Severity.ERROR, evidence, hint)
    held = [cycle for cycle in _cycles(column) if _crossed(table, cycle, column[cycle])]
    if not held:
        return None
    first = [c for cycle in held for c in cycle]
    evidence = (
        f"Classes are crossed ({'; '.join(' and '.join(names[c] for c in cycle) for cycle in held)}): "
        f"{_listed(recall, first, [int(column[c]) for c in first], names)}."
    )
    hint = f"Were classes listed in another order? {_mend(names, first, [int(column[c]) for c in first])}"
    return SanityFinding("labels-renamed", Severity.ERROR, evidence, hint)


def _strangers(total: Floats, column: Indices, names: Sequence[str]) -> SanityFinding | None:
    """Whether no class is ever called by the name of any that the references have, as of masks times 40."""
    held = np.flatnonzero(total.sum(axis=1) >= FEWEST)
    if not held.size or total[:, held].any():
        return None
    others = [int(column[c]) for c in held]
    recall = total / np.maximum(total.sum(axis=1), 1)[:, None]
    evidence = f"No predicted class is one of the references': {_listed(recall, held.tolist(), others, names)}."
    sure = (recall[held, others] >= LEAST_RECALL).all()
    hint = _mend(names, held.tolist(), others) if sure else "Are classes numbered otherwise there?"
    return SanityFinding("labels-renamed", Severity.ERROR, evidence, hint)


def _mend(names: Sequence[str], classes: Sequence[int], others: Sequence[int]) -> str:
    """What takes predictions under other names for what they are."""
    pairs = [(names[other], names[c]) for c, other in zip(classes, others, strict=True)]
    if any(set(",+:") & set(name) for pair in pairs for name in pair):
        return f"Rename them in the predictions: {', '.join(f'{theirs!r} is {ours!r}' for theirs, ours in pairs)}."
    return f"Say --format {shlex.quote('renamed=' + '+'.join(map(':'.join, pairs)))}."


def renamings(stated: str, names: Collection[str]) -> dict[str, str]:
    """What predictions call some classes, and what these are.

    Args:
        stated: As in `A:B+B:A`: what is called A is B, and the reverse.
        names: What predictions call theirs.

    Raises:
        Misuse: No pairs, or a class that the predictions do not have.

    Example:
        >>> renamings("hook:clipper+clipper:hook", ["hook", "clipper", "grasper"])
        {'hook': 'clipper', 'clipper': 'hook'}
    """
    pairs = [one.split(":") for one in stated.split("+")]
    if any(len(pair) != 2 or pair[0] not in names or not pair[1] for pair in pairs):
        known = ", ".join(sorted(names)[:20])
        raise Misuse(f"--format renamed must pair names of the predictions ({known}) with others, as A:B+B:A")
    return dict(pairs)


def _cycles(column: Indices) -> list[Indices]:
    """The cycles of an assignment of more than one class."""
    cycles, seen = [], set[int]()
    for start in range(len(column)):
        cycle = []
        place = start
        while place not in seen:
            seen.add(place)
            cycle.append(place)
            place = int(column[place])
        if len(cycle) > 1:
            cycles.append(np.array(cycle))
    return cycles


def _shifted(table: Floats, classes: Indices, others: Indices) -> bool:
    """Whether every one of some classes is called by its neighbour's name more often than by its own.

    A shift is one fault of all classes, so its size and the videos that have it are judged over all of them together:
    single classes of a weak model are too few.
    """
    cases = table[:, classes].sum(axis=2)
    right, other = table[:, classes, classes], table[:, classes, others]
    recalls = np.array([right.sum(), other.sum()]) / cases.sum()
    better = other.sum(axis=1) > right.sum(axis=1)
    held = cases.sum(axis=1) > 0
    return bool(
        (other.sum(axis=0) > right.sum(axis=0)).all()
        and recalls[1] >= LEAST_RECALL
        and recalls[1] - recalls[0] >= LEAST_GAIN
        and better[held].mean() >= LEAST_VIDEOS
    )


def _crossed(table: Floats, classes: Indices, others: Indices) -> bool:
    """Whether every one of some classes is predicted under another name, in most videos that have it."""
    for c, other in zip(classes.tolist(), others.tolist(), strict=True):
        cases = table[:, c].sum(axis=1)
        total = cases.sum()
        if total < FEWEST:
            return False
        recalls = table[:, c, [c, other]].sum(axis=0) / total
        with_it = cases > 0
        better = table[with_it, c, other] > table[with_it, c, c]
        if recalls[1] < LEAST_RECALL or recalls[1] - recalls[0] < LEAST_GAIN or better.mean() < LEAST_VIDEOS:
            return False
    return True


def _listed(recall: Floats, classes: Sequence[int], others: Sequence[int], names: Sequence[str]) -> str:
    pairs = zip(classes, others, strict=True)
    return first_few([f"{recall[c, other]:.0%} of {names[c]!r} are called {names[other]!r}" for c, other in pairs], 4)


def merged(table: Floats, names: Sequence[str]) -> SanityFinding | None:
    """Whether at least half of the classes are never predicted, and nearly all of theirs are called by one name."""
    total = table.sum(axis=0)
    held = np.flatnonzero(total.sum(axis=1) >= FEWEST)
    never = [c for c in held.tolist() if total[:, c].sum() == 0]
    if len(never) < 2 or 2 * len(never) < len(held):
        return None
    under = total[never].sum(axis=0)
    most = int(under.argmax())
    if under[most] < MERGED * under.sum():
        return None
    evidence = (
        f"{', '.join(names[c] for c in never)} are never predicted, and {under[most] / under.sum():.0%} of their "
        f"{int(under.sum()):,} cases are called {names[most]!r}."
    )
    hint = "Were classes merged when the predictions were written? Metrics of classes mean nothing here."
    return SanityFinding("classes-merged", Severity.ERROR, evidence, hint)
