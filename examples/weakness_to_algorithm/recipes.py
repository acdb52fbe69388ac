"""What a recipe is, the baselines, and which design choice answers which property.

A recipe is plain data: it goes into the record of a run, and the differences between two recipes are all that a
comparison of their models can be about.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Recipe:
    """How one model is made."""

    name: str
    kind: str
    """`components`, `centres` or `queries`."""
    neighbours: str = "none"
    """`none`, `real`, or `copies` of the frame itself, which add weights to train but nothing to see."""
    spoilers: tuple[str, ...] = ()
    paste: bool = False
    small_weigh_more: bool = False
    sampling: str = "even"
    """`even`, by predicted `risk`, or by the same weights `shuffled` between cases."""
    merge: str = "none"
    """Join centres whose `votes` cannot be told apart, or only those of them that are `close` to each other."""
    seed: int = 1
    longer: int = 1
    """How many times the steps of the others."""

    def training(self) -> Recipe:
        """What decides about the network: recipes that are alike in this share one."""
        return replace(self, name="", merge="none")

    def without(self, choice: str) -> Recipe:
        """The recipe with one design choice taken back."""
        taken = {
            "temporal": {"neighbours": "none"},
            "spoilers": {"spoilers": ()},
            "paste": {"paste": False},
            "small": {"small_weigh_more": False},
            "risk": {"sampling": "even"},
            "merge": {"merge": "none"},
        }[choice]
        return replace(self, name=f"{self.name} without {choice}", **taken)  # type: ignore[arg-type]


BASELINES = (Recipe("components", "components"), Recipe("centres", "centres"), Recipe("queries", "queries"))

CHOICES: dict[str, tuple[str, str]] = {
    "background_motion": ("temporal", "blur"),
    "instance_motion": ("temporal", "blur"),
    "background_smoke": ("spoilers", "smoke"),
    "image_too_dark": ("spoilers", "dark"),
    "image_too_bright": ("spoilers", "bright"),
    "image_lens_dirty": ("spoilers", "dirt"),
    "background_blood": ("spoilers", "blood"),
    "background_reflections": ("spoilers", "spots"),
    "instance_blood": ("spoilers", "stains"),
    "instance_reflections": ("spoilers", "spots"),
    "instance_too_dark": ("spoilers", "dark things"),
    "instance_too_bright": ("spoilers", "bright things"),
    "instance_tissue": ("temporal", ""),
    "instance_overlapped": ("paste", ""),
    "instance_touching": ("paste", ""),
    "image_many_instances": ("paste", ""),
    "instance_small": ("small", ""),
    "instance_cut": ("temporal", ""),
    "instance_no_instrument": ("risk", ""),
}
"""What answers a property that hurts: a design choice and, of images spoiled on purpose, how."""


def write_recipes(recipes: list[Recipe], path: Path) -> None:
    """Write recipes as JSON."""
    path.write_text(json.dumps([asdict(one) for one in recipes], indent=1) + "\n", encoding="utf-8")


def read_recipes(path: Path) -> list[Recipe]:
    """Recipes as `write_recipes` wrote them."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    return [Recipe(**{**row, "spoilers": tuple(row["spoilers"])}) for row in rows]
