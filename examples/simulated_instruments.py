"""Data with the structure of Ross et al. (2023) and known effects: patients, images, instances, algorithms, pixels.

Ten patients hold images, images hold instrument instances, and every algorithm segments every instance.
Characteristics are binary and of three kinds (of the instance, of its background, of the image). Pixel
recall is binomial given a logit that adds the characteristics' effects, random intercepts, and noise of
(algorithm, instance), which real algorithms have and the original analysis left out.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import polars as pl
from scipy import special

from surgvalid.stats.draws import stream

EFFECTS: Mapping[str, float] = {
    "i_bright": 0.3, "i_tissue": 0.25, "i_dark": -0.5, "i_reflection": 0.0, "i_material": -0.4, "i_smoke": 0.0,
    "i_motion": -0.45, "i_blood": 0.0, "i_instrument": -0.8, "b_object": -0.3, "b_motion": 0.0, "b_blood": 0.0,
    "b_reflection": 0.0, "b_smoke": -0.25, "g_lens": 0.0, "g_bright": 0.0, "g_dark": -0.2,
}  # fmt: skip
"""True log odds ratios: `i_` of the instance, `b_` of the background, `g_` of the whole image."""


@dataclass(frozen=True)
class Spreads:
    """True standard deviations of the random intercepts."""

    patient: float = 0.4
    image: float = 0.6
    instance: float = 1.0
    algorithm: float = 0.5
    cell: float = 1.0
    """Of (algorithm, instance)."""


@dataclass(frozen=True)
class Simulation:
    """What to simulate; the defaults have the size of the multi-instrument data of that paper."""

    patients: int = 10
    images: int = 1031
    instances: int = 2118
    algorithms: int = 5
    spreads: Spreads = field(default_factory=Spreads)
    effects: Mapping[str, float] = field(default_factory=lambda: EFFECTS)
    intercept: float = 1.5
    varying: float = 0.0
    """Standard deviation of every effect between patients."""
    outcome: str = "pixels"
    """`pixels` (counts), `binary` (0 or 1 per row) or `score` (a continuous value)."""

    def frame(self, seed: int) -> pl.DataFrame:
        """One data set: a row per (algorithm, instance)."""
        rng = stream(seed, "paper-structure")
        image_patient = rng.integers(0, self.patients, self.images)
        instance_image = np.sort(
            np.concatenate(
                [
                    np.arange(min(self.images, self.instances)),
                    rng.integers(0, self.images, max(self.instances - self.images, 0)),
                ]
            )
        )
        properties = self._properties(rng, instance_image)
        eta = self.intercept + sum(self.effects[name] * column for name, column in properties.items())
        s = self.spreads
        if self.varying:
            patient = image_patient[instance_image]
            eta = eta + sum(rng.normal(0, self.varying, self.patients)[patient] * x for x in properties.values())
        eta = eta + rng.normal(0, s.patient, self.patients)[image_patient[instance_image]]
        eta = eta + rng.normal(0, s.image, self.images)[instance_image] + rng.normal(0, s.instance, self.instances)
        eta = eta[:, None] + rng.normal(0, s.algorithm, self.algorithms)
        eta = (eta + rng.normal(0, s.cell, eta.shape)).ravel()
        repeated = np.repeat(np.arange(self.instances), self.algorithms)
        return pl.DataFrame(
            {
                "algorithm": np.char.add("A", np.tile(np.arange(self.algorithms), self.instances).astype(str)),
                "patient": np.char.add("p", image_patient[instance_image][repeated].astype(str)),
                "image": np.char.add("f", instance_image[repeated].astype(str)),
                "instance": np.char.add("i", repeated.astype(str)),
                **{name: column[repeated] for name, column in properties.items()},
                **self._outcome(rng, eta, repeated),
            }
        )

    def _properties(self, rng: np.random.Generator, instance_image: np.ndarray) -> dict[str, np.ndarray]:
        properties = {}
        for name in self.effects:
            prevalence = rng.uniform(0.05, 0.3)
            if name.startswith("i_"):
                properties[name] = rng.binomial(1, prevalence, self.instances)
            else:
                properties[name] = rng.binomial(1, prevalence, self.images)[instance_image]
        return properties

    def _outcome(self, rng: np.random.Generator, eta: np.ndarray, instance: np.ndarray) -> dict[str, np.ndarray]:
        if self.outcome == "binary":
            return {"correct": rng.binomial(1, special.expit(eta))}
        if self.outcome == "score":
            return {"score": eta + rng.normal(0, 1, len(eta))}
        pixels = np.maximum(rng.lognormal(9, 0.8, self.instances).astype(np.int64), 50)[instance]
        hit = rng.binomial(pixels, special.expit(eta))
        return {"tp": hit, "reference": pixels, "predicted": hit + rng.binomial(pixels, 0.1)}
