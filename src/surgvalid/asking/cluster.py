"""A Ray cluster: one that runs already (`RAY_ADDRESS`, as Ray reads it), or one on this machine, ended again."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from surgvalid.errors import ExtraNeeded, UnknownName

LOCAL, RAY = EXECUTORS = ("local", "ray")


def check_executor(name: str) -> None:
    """Refuse an executor that does not exist, or cannot be used here.

    Raises:
        UnknownName: There is none of that name.
        ExtraNeeded: Ray is not installed.
    """
    if name not in EXECUTORS:
        raise UnknownName("executor", name, EXECUTORS)
    if name == RAY and importlib.util.find_spec("ray") is None:
        raise ExtraNeeded("executor 'ray'", "ray", "cluster")


@contextmanager
def ray_cluster() -> Iterator[Any]:
    """Ray, connected to a cluster; one that was started here ends here."""
    import ray

    ours = not ray.is_initialized()
    if ours:
        ray.init(log_to_driver=False, logging_level="warning", include_dashboard=False)
    try:
        yield ray
    finally:
        if ours:
            ray.shutdown()
