"""P2.4: a value moves with the frame rate or the resolution, although the model does not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from surgvalid.audit.evidence import AuditEvidence, Look, NotThere, judged
from surgvalid.audit.measures import ALPHA, FEWEST_TESTED, estimate, grid_differences, grid_means
from surgvalid.audit.pitfall import Category, Pitfall, Seldom
from surgvalid.audit.study import AuditedStudy
from surgvalid.audit.timelines import accuracy, fitting_steps, grid, step_of, timelines
from surgvalid.stats.comparing.corrections import adjusted

ABOUT = Pitfall(
    "P2.4",
    "Values that move with recording conditions",
    Category.METRICS,
    "Frame rate, resolution, smoke or zoom change the value of a metric although the model behaves alike, so values "
    "from two recordings or two studies cannot be compared.",
    ("unreliable",),
    (
        Seldom(58.8, "did not consider the frame rate", 34),
        Seldom(56.5, "did not consider image quality", 46),
    ),
    "Where predictions over time are there, the frame-wise value with every moment, every second and every fifth one "
    "(videos weigh the same). Fails where it moves by 0.02 or more, and by more than chance.",
    "Fix and report the frame rate and resolution at which a metric is computed, and show the value at others.",
)
FACTORS = (2, 5)
MOVED = 0.02


def at_other_rates(study: AuditedStudy) -> Iterator[AuditEvidence]:
    """The frame-wise value at lower frame rates."""
    lines = timelines(study)
    whole, models, videos = grid(lines, accuracy)
    steps = list(fitting_steps(lines, FACTORS))
    if not steps:
        raise NotThere("videos of twenty moments or more")
    if len(videos) < FEWEST_TESTED:
        raise NotThere(f"{FEWEST_TESTED} videos with predictions over time")
    step_s, numbers, moves, p_values = step_of(lines), [], [], []
    for factor in (1, *steps):
        values = grid([line.every(factor) for line in lines], accuracy)[0]
        around = grid_means(values, low=0.0, high=1.0)
        numbers += [
            estimate(
                "accuracy at a frame rate",
                around,
                place,
                videos,
                subject=model,
                setting=f"{1 / (factor * step_s):.3g} per s",
            )
            for place, model in enumerate(models)
        ]
        if factor > 1:
            moved = grid_differences(values - whole)
            moves.append(moved.value)
            p_values.append(moved.p_value)
    corrected = adjusted(np.concatenate(p_values), "holm")
    sizes = np.concatenate(moves)
    bad = (np.abs(sizes) >= MOVED) & (corrected < ALPHA)
    most = float(np.abs(sizes).max())
    text = f"Thinned out to {', '.join(f'1/{factor}' for factor in steps)} the accuracy moves by up to {most:.3f}"
    who = models[int(np.argmax(bad)) % len(models)]
    little = f"less than {MOVED}" if most < MOVED else "no more than chance"
    yield judged(bad.any(), f"{text}; for {who} by more than chance.", f"{text}: {little}.", *numbers)


LOOKS = (Look("values at other frame rates", at_other_rates),)
