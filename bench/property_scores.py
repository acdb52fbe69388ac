"""`python -m bench.property_scores`: how well image-property scores tell their artefact from others.

Two sources of images, each clean and with one artefact of random strength: synthetic textures, and frames of the
simulated procedures (whose painter knows nothing of the scores). See docs/validation-mixed.md for a stored run.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np
from scipy import ndimage, stats

from bench.image_properties import ESTIMATORS
from surgvalid.simulation.centers import CENTERS
from surgvalid.simulation.renderer import Renderer
from surgvalid.simulation.scene import Scene, draw_scene
from surgvalid.simulation.timelines import Episode

Picture = np.ndarray
Pictures = Mapping[str, Sequence[Picture]]
"""Images per artefact, `clean` among them."""
PAINTED = {
    "image_bright": "image_too_bright", "image_dark": "image_too_dark", "image_reflections": "background_reflections",
    "image_haze": "background_smoke", "image_dirty_lens": "image_lens_dirty",
}  # fmt: skip
"""Scores to the artefacts of the simulator."""


def texture(seed: int, side: int = 128) -> Picture:
    """Reddish to yellowish tissue-like texture of some brightness, with detail at every scale, in a round field."""
    rng = np.random.default_rng(seed)
    light = sum(ndimage.gaussian_filter(rng.normal(size=(side, side)), s) * s for s in (0.7, 1.5, 3, 8, 20))
    light = rng.uniform(0.38, 0.52) + 0.13 * (light - light.mean()) / light.std()
    tint = np.array([1.25, rng.uniform(0.7, 0.95), rng.uniform(0.6, 0.8)])
    image = np.asarray(np.clip(light[..., None] * tint, 0.03, 0.9))
    y, x = np.mgrid[:side, :side] - side / 2
    image[np.hypot(x, y) > side * 0.49] = 0.0
    return image


def bright(image: Picture, rng: np.random.Generator) -> Picture:
    return np.asarray(np.clip(image * rng.uniform(2.0, 3.0), 0, 1))


def dark(image: Picture, rng: np.random.Generator) -> Picture:
    return np.asarray(image * rng.uniform(0.12, 0.22))


def blurred(image: Picture, rng: np.random.Generator) -> Picture:
    reach = max(7, int(rng.uniform(0.06, 0.12) * image.shape[0]))
    moved = ndimage.uniform_filter1d(ndimage.gaussian_filter(image, (1, 1, 0)), reach, axis=int(rng.integers(2)))
    return np.asarray(np.clip(moved, 0, 1))


def spots(image: Picture, rng: np.random.Generator) -> Picture:
    marks = np.zeros(image.shape[:2])
    inner = image.shape[0] // 4
    for y, x in rng.integers(inner, image.shape[0] - inner, (int(rng.integers(10, 30)), 2)):
        marks[y, x] = 1
    marks = np.minimum(ndimage.gaussian_filter(marks, 1.2) * 18, 1)[..., None]
    return np.asarray(image * (1 - marks) + 0.98 * marks)


def smoke(image: Picture, rng: np.random.Generator) -> Picture:
    noise = ndimage.gaussian_filter(rng.normal(size=image.shape[:2]), 15)
    density = np.clip(rng.uniform(0.45, 0.75) + 0.1 * noise / noise.std(), 0.3, 0.9)[..., None]
    hazed = np.asarray(image * (1 - density) + 0.75 * density)
    hazed[image.max(axis=2) == 0] = 0.0
    return hazed


def smear(image: Picture, rng: np.random.Generator) -> Picture:
    y, x = np.mgrid[: image.shape[0], : image.shape[1]]
    cy, cx = rng.uniform(0.35, 0.65, 2) * image.shape[0]
    mask = (np.hypot(y - cy, x - cx) < rng.uniform(0.14, 0.22) * image.shape[0]).astype(float)
    mask = ndimage.gaussian_filter(mask, 2)[..., None]
    return np.asarray(image * (1 - mask) + ndimage.gaussian_filter(image, (5, 5, 0)) * mask)


ARTEFACTS: Mapping[str, Callable[[Picture, np.random.Generator], Picture]] = {
    "image_bright": bright, "image_dark": dark, "image_blur": blurred, "image_reflections": spots, "image_haze": smoke,
    "image_dirty_lens": smear,
}  # fmt: skip


def textures(many: int, first: int = 0) -> Pictures:
    """Textures clean and with every artefact, in 8 bits as from a camera."""
    rng = np.random.default_rng(first)
    clean = [texture(seed) for seed in range(first, first + many)]
    found = {"clean": clean, **{name: [add(image, rng) for image in clean] for name, add in ARTEFACTS.items()}}
    return {name: [np.round(image * 255).astype(np.uint8) for image in images] for name, images in found.items()}


def rendered(many: int, first: int = 0) -> Pictures:
    """Frames of simulated procedures of all centres, clean and with every artefact."""
    rng = np.random.default_rng(first)
    found: dict[str, list[Picture]] = {"clean": [], **{name: [] for name in ARTEFACTS}}
    centers = list(CENTERS)
    for number in range(many):
        scene = draw_scene(
            first, number, center=centers[number % len(centers)], minutes=(3, 4), width_px=256, height_px=144
        )
        time_s = _steady(scene)
        clean = _frame(scene, time_s, ())
        found["clean"].append(clean)
        found["image_blur"].append(np.round(blurred(clean / 255.0, rng) * 255).astype(np.uint8))
        for name, kind in PAINTED.items():
            strength = float(rng.uniform(0.5, 0.9))
            found[name].append(_frame(scene, time_s, (Episode(kind, time_s - 30, time_s + 30, strength),)))
    return found


def _steady(scene: Scene) -> float:
    """A time at which the camera is inside and stands still."""
    times = np.arange(10.0, scene.duration_s - 10.0)
    restless = scene.conditions(times)["background_motion"] + scene.camera.is_masked(times)
    return float(times[int(np.argmin(restless))])


def _frame(scene: Scene, time_s: float, episodes: tuple[Episode, ...]) -> Picture:
    return Renderer(replace(scene, episodes=episodes)).frame(time_s).colour


def scores(pictures: Pictures) -> dict[str, dict[str, np.ndarray]]:
    """Score by name, then by artefact in the images."""
    return {
        name: {kind: np.array([estimator(image) for image in images]) for kind, images in pictures.items()}
        for name, (estimator, _) in ESTIMATORS.items()
    }


def area(above: np.ndarray, below: np.ndarray) -> float:
    """Chance that a score of the first kind exceeds one of the second (area under the ROC curve)."""
    return float(stats.mannwhitneyu(above, below).statistic) / (len(above) * len(below))


def table(pictures: Pictures) -> str:
    """Own artefact against each other kind of image; in brackets the share of those that are proposed."""
    found, kinds = scores(pictures), ["clean", *ARTEFACTS]
    lines = ["| score | " + " | ".join(kinds) + " |", "|---" * (len(kinds) + 1) + "|"]
    for name, by_kind in found.items():
        threshold = ESTIMATORS[name][1]
        cells = []
        for kind in kinds:
            share = f"({np.mean(by_kind[kind] >= threshold):.0%})"
            cells.append(f"**{share}**" if kind == name else f"{area(by_kind[name], by_kind[kind]):.2f} {share}")
        lines.append(f"| {name} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description="Scores of image properties on simulated artefacts.")
    parser.add_argument("--pictures", type=int, default=40, help="images of each kind")
    parser.add_argument("--first", type=int, default=1000, help="first seed")
    options = parser.parse_args()
    print("Textures:\n")
    print(table(textures(options.pictures, options.first)))
    print("\nFrames of the simulator:\n")
    print(table(rendered(options.pictures, options.first)))


if __name__ == "__main__":
    main()
