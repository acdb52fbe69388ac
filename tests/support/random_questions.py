"""Random question sets for comparisons with loops: every property of a question is drawn by itself."""

from __future__ import annotations

import numpy as np

from surgvalid import Capability, Reference, Request, Response

LEAVES = [leaf for group in Capability.groups() for leaf in group.leaves]
WINDOWS_S = (0.0, 12.0, 30.0, 200.0, 300.0, 4000.0)


def random_set(
    seed: int, *, questions: int = 240, videos: int = 14
) -> tuple[list[Request], list[Reference], list[Response]]:
    """Requests, references and the answers of one model; some questions have no answer."""
    rng = np.random.default_rng(seed)
    hard = rng.random(videos)
    requests, references, responses = [], [], []
    for number in range(questions):
        case, video = f"q{number:04}", int(rng.integers(videos))
        window = float(rng.choice(WINDOWS_S))
        requests.append(Request(case, f"v{video:02}", 0.0, window, "cholecystectomy", "How many clips are there?"))
        extra = rng.choice(len(LEAVES), size=rng.integers(3), replace=False)
        count = int(rng.integers(6))
        references.append(
            Reference(
                case, LEAVES[rng.integers(len(LEAVES))], "number", str(count),
                secondaries=tuple(LEAVES[place] for place in extra), ood=bool(rng.random() < 0.4),
                clinical=bool(rng.random() < 0.5),
            )
        )  # fmt: skip
        if rng.random() < 0.95:
            right = rng.random() < 0.2 + 0.7 * hard[video]
            responses.append(Response(case, str(count if right else count + int(rng.integers(1, 4)))))
    return requests, references, responses
