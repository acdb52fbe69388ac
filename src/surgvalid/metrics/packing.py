"""Statistics as plain arrays and back, and the options with which a metric can be opened again.

Statistics that are a plain array are cut into their units. Tickets into a store are the number of the unit in it, and
the store is taken apart field by field into the arrays that it holds. What a file says is never interpreted as a type:
the metric names the class of its store, and the annotations of that class say what is built, so reading a file runs
nothing that the file names.

Metrics whose statistics go into a file: how each is opened again, tried before anything is written.

Whoever reads the file combines statistics with a metric opened by name. That this gives the value which stands in the
result is not assumed but computed; a metric that fails is not written and says why.
"""

from __future__ import annotations

import json
import types
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from inspect import Parameter, signature
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from scipy import sparse

from surgvalid.errors import Misuse, SurgvalidError
from surgvalid.metrics import METRICS
from surgvalid.schema.metric_facts import Metric, PackableMetric, Packed
from surgvalid.schema.tables.statistics_table import MOST_NUMBERS, Recipe, VideoStatistics, numbers_in

_WHOLE = "statistics"
_INDEX = "unit"
_SPARSE = ("data", "indices", "indptr", "shape")


def packed(statistics: np.ndarray, tickets: bool) -> Packed:
    """Statistics as plain arrays.

    Args:
        statistics: What `prepare` gave.
        tickets: Whether they are tickets into one store.

    Raises:
        Misuse: They are objects of another kind.
    """
    if statistics.dtype != object:
        return Packed({}, [{_WHOLE: row} for row in statistics])
    if not tickets or any(one.store is not statistics[0].store for one in statistics):
        raise Misuse("its statistics are objects of its own, not numbers")
    shared = dict(_arrays(statistics[0].store, "")) if len(statistics) else {}
    return Packed(shared, [{_INDEX: np.asarray(ticket.index)} for ticket in statistics])


def plain_statistics(given: Packed) -> np.ndarray:
    """The array that was cut into units.

    Raises:
        Misuse: The units do not fit together.
    """
    try:
        return np.stack([unit[_WHOLE] for unit in given.units]) if given.units else np.empty((0,))
    except (KeyError, ValueError) as error:
        raise Misuse(f"the statistics of its units do not fit together ({error})") from None


def rebuilt(store: type, given: Packed) -> tuple[Any, list[int]]:
    """The store that was taken apart, and the number of each unit in it.

    Raises:
        Misuse: An array is not there, or the arrays do not make such a store.
    """
    try:
        return _built(store, given.shared, ""), [int(np.asarray(unit[_INDEX]).item()) for unit in given.units]
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise Misuse(f"its arrays make no {store.__name__} ({error})") from None


def options_of(metric: Any, made: type, preset: Mapping[str, Any], left_out: Sequence[str]) -> dict[str, Any]:
    """The options of a metric that are not the usual ones, as plain data.

    Args:
        metric: It has every option as an attribute of that name.
        made: What makes it.
        preset: The options that its name stands for.
        left_out: Options that do nothing once statistics are prepared, and may be anything.

    Raises:
        Misuse: With every option that is no plain data.
    """
    options, odd = {}, []
    for name, parameter in signature(made).parameters.items():
        usual = preset.get(name, None if parameter.default is Parameter.empty else parameter.default)
        value = _plain(getattr(metric, name, metric))
        if name in left_out or value == _plain(usual):
            continue
        if _is_plain(value):
            options[name] = value
        else:
            odd.append(name)
    if odd:
        raise Misuse(f"its option {', '.join(odd)} is no plain data")
    return options


def _arrays(value: Any, name: str) -> Iterator[tuple[str, np.ndarray]]:
    """Every array in a store by its way there."""
    if isinstance(value, sparse.csr_array):
        for field in _SPARSE:
            yield f"{name}.{field}", np.asarray(getattr(value, field))
    elif names := _fields(type(value)):
        for field in names:
            yield from _arrays(getattr(value, field), f"{name}.{field}")
    elif isinstance(value, tuple):
        yield f"{name}.length", np.asarray(len(value))
        for place, member in enumerate(value):
            yield from _arrays(member, f"{name}.{place}")
    else:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf":
            raise Misuse(f"its statistics hold something else than numbers ({name.strip('.')})")
        yield name, array


def _built(kind: Any, arrays: Mapping[str, np.ndarray], name: str) -> Any:
    """A value of an annotated kind from the arrays that were on the way to it."""
    origin = _origin(kind)
    if origin in (Union, types.UnionType):
        kind = next(one for one in get_args(kind) if one is not type(None))
        origin = _origin(kind)
    if origin is sparse.csr_array:
        data, indices, indptr, shape = (arrays[f"{name}.{field}"] for field in _SPARSE)
        made = sparse.csr_array((data, indices, indptr), shape=tuple(map(int, shape)))
        made.check_format()
        return made
    if origin is np.ndarray:
        return arrays[name]
    if origin is tuple and not _fields(origin):
        return tuple(_built(get_args(kind)[0], arrays, f"{name}.{n}") for n in range(int(arrays[f"{name}.length"])))
    if names := _fields(origin):
        hints = get_type_hints(origin)
        return origin(**{field: _built(hints[field], arrays, f"{name}.{field}") for field in names})
    return origin(arrays[name].item())


def _origin(kind: Any) -> Any:
    """The class behind an annotation; newer versions of NumPy name theirs by an alias, which is looked through."""
    origin = get_origin(kind) or kind
    return _origin(origin.__value__) if hasattr(origin, "__value__") and not isinstance(origin, type) else origin


def _fields(kind: Any) -> tuple[str, ...]:
    """The fields of a dataclass or a named tuple."""
    if is_dataclass(kind):
        return tuple(field.name for field in fields(kind))
    return tuple(getattr(kind, "_fields", ()))


def _plain(value: Any) -> Any:
    """An option as plain data, as far as it is: an enumeration by its value, a rule by its name."""
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, list | tuple) and not _fields(type(value)):
        return [_plain(member) for member in value]
    if isinstance(value, np.integer | np.floating | np.bool_):
        return value.item()
    return getattr(value, "name", value) if not isinstance(value, type) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, list):
        return all(map(_is_plain, value))
    return value is None or isinstance(value, str | int | float | bool)


def written_down(
    name: str, metric: Metric, statistics: np.ndarray, videos: Sequence[str], cases: Sequence[int] = ()
) -> tuple[Recipe, VideoStatistics]:
    """How to open the metric again, and its statistics as a file can hold them.

    Args:
        name: What the metric is called in the result.
        metric: The metric.
        statistics: One row per video.
        videos: Their names.
        cases: How many cases each has, where known.

    Raises:
        Misuse: It cannot be written down, and why.
    """
    if not isinstance(metric, PackableMetric):
        raise Misuse("it has no `pack` and `unpack`")
    recipe, packed = recipe_of(name, metric), metric.pack(statistics)
    if (size := numbers_in(packed)) > MOST_NUMBERS:
        raise Misuse(f"its statistics are {size:,} numbers, more than {MOST_NUMBERS:,}")
    once = np.ones((1, len(statistics)))
    again = reopened(recipe)
    value, repeated = metric.combine(statistics, once), again.combine(again.unpack(packed), once)
    if not np.array_equal(value, repeated, equal_nan=True):
        raise Misuse(f"opened again it gives {float(repeated[0])!r} and not {float(value[0])!r}")
    return recipe, VideoStatistics(tuple(videos), packed, tuple(cases))


def recipe_of(name: str, metric: Metric) -> Recipe:
    """How a metric is opened again.

    Raises:
        Misuse: No metric of the catalogue is of its class, or an option is no plain data.
    """
    names = [name, metric.facts.name, *METRICS.ours]
    opened = next((known for known in names if known in METRICS and METRICS[known].makes is type(metric)), None)
    if opened is None:
        raise Misuse("no metric of the catalogue is of its class")
    factory, left_out = METRICS[opened], tuple(getattr(metric, "for_preparing", ()))
    options = options_of(metric, type(metric), factory.options, left_out)
    return Recipe(opened, json.dumps(options, sort_keys=True))


def reopened(recipe: Recipe) -> PackableMetric:
    """The metric of a recipe.

    Raises:
        Misuse: It has other options in this version, or it has no statistics that can be read.
    """
    try:
        metric: Any = METRICS[recipe.opened](**recipe.arguments)
    except SurgvalidError as error:
        raise Misuse(f"metric {recipe.opened!r} cannot be opened with {recipe.options}: {error}") from None
    if not isinstance(metric, PackableMetric):
        raise Misuse(f"metric {recipe.opened!r} has no `unpack`")
    return metric
