"""Metrics: arrays in, numbers out; one file per family.

`METRICS` lists every metric that can be weighted (see `surgvalid.metrics.metric`), one line each in `metrics.toml`.
Nothing is imported before it is asked for.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any

from surgvalid.catalogue import Catalogue, packages_named
from surgvalid.errors import Misuse

if TYPE_CHECKING:
    from surgvalid.schema.metric_facts import Metric

__all__ = [
    "CLASSIFICATION",
    "DETECTION",
    "METRICS",
    "SEGMENTATION",
    "TIME",
    "TRACKING",
    "TRIPLETS",
    "Factory",
    "answer_errors",
    "classification",
    "detection",
    "metric",
    "metrics_for",
    "open_metric",
    "packing",
    "phases",
    "segmentation",
    "times",
    "tracking",
    "triplets",
]


class Factory:
    """Makes one metric: of a class in a module of this package or a given one, with options that can be overridden."""

    def __init__(self, home: str | Callable[..., Metric], **options: Any) -> None:
        self.home, self.options = home, options

    @packages_named()
    def __call__(self, **options: Any) -> Metric:
        """The metric, with these options in place of its own.

        Raises:
            Misuse: An option that the metric needs is missing, or one is given that it does not have.
        """
        chosen = self._chosen()
        try:
            wanted = signature(chosen).bind(**{**self.options, **options})
        except TypeError as error:
            raise Misuse(f"options of {chosen.__name__}: {error}") from None
        made: Metric = chosen(*wanted.args, **wanted.kwargs)
        return made

    @property
    def family(self) -> str:
        """The module that it comes from."""
        return self.home.rpartition(".")[0] if isinstance(self.home, str) else self.home.__module__

    @property
    def makes(self) -> Any:
        """The class or function that makes the metric."""
        return self._chosen()

    @property
    def option_names(self) -> frozenset[str]:
        """The options that the metric has."""
        return frozenset(signature(self._chosen()).parameters)

    @property
    def takes(self) -> tuple[str, ...]:
        """The forms of cases that the metric says it takes."""
        return tuple(getattr(self._chosen(), "takes", ()))

    def _chosen(self) -> Any:
        if not isinstance(self.home, str):
            return self.home
        module, _, name = self.home.rpartition(".")
        return getattr(import_module(f"{__name__}.{module}"), name)


def _family(name: str) -> dict[str, Factory]:
    given = {metric: one if isinstance(one, dict) else {"home": one} for metric, one in _LISTED[name].items()}
    return {metric: Factory(**one) for metric, one in given.items()}


_LISTED = tomllib.loads(Path(__file__).with_name("metrics.toml").read_text(encoding="utf-8"))
CLASSIFICATION = _family("CLASSIFICATION")
"""Labels, scores and probabilities per case."""
DETECTION = _family("DETECTION")
"""Boxes and masks of objects in images."""
SEGMENTATION = _family("SEGMENTATION")
"""Masks per pixel."""
TIME = _family("TIME")
"""Phases, segments, transitions, intervals, latency."""
TRIPLETS = _family("TRIPLETS")
"""Instrument, verb and target."""
TRACKING = _family("TRACKING")
"""Identities over time."""


def _taken(name: str, made: Any) -> Factory:
    if not callable(made):
        raise TypeError(f"{name!r} leads to a {type(made).__name__}, not to a class or function that makes a metric")
    return made if isinstance(made, Factory) else Factory(made)


METRICS: Catalogue[Factory] = Catalogue(
    "metric",
    "metrics",
    {**CLASSIFICATION, **DETECTION, **SEGMENTATION, **TIME, **TRIPLETS, **TRACKING},
    take=_taken,
)
"""Every metric by name; `METRICS[name](**options)` makes it."""


def metrics_for(family: Mapping[str, Factory], *forms: str) -> dict[str, Factory]:
    """The metrics of a family that take cases of one of these forms."""
    return {name: factory for name, factory in family.items() if set(forms) & set(factory.takes)}


def open_metric(name: str, **options: Any) -> Metric:
    """The metric of a name.

    Raises:
        UnknownName: Nothing has that name.
        PluginBroken: An installed package offers it, and it cannot be used.
    """
    return METRICS[name](**options)
