"""The task instances: a TOML file each in `instances/`, entry points of `surgeval.tasks`, and any file of a user's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

from surgeval.catalogue import Catalogue, with_attributes
from surgeval.tasks.reading import read_task
from surgeval.tasks.task import TaskInstance

INSTANCES = Path(__file__).with_name("instances")
_ENDING = ".toml"


class _TomlFiles(Mapping[str, TaskInstance]):
    """The TOML files of a folder by name, each read when it is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __iter__(self) -> Iterator[str]:
        return (path.stem for path in sorted(self.folder.glob(f"*{_ENDING}")))

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name in set(self)

    def __getitem__(self, name: str) -> TaskInstance:
        return _read(self.folder / f"{name}{_ENDING}")


@cache
def _read(path: Path) -> TaskInstance:
    return read_task(path)


TASKS: Catalogue[TaskInstance] = Catalogue(
    "task",
    "tasks",
    _TomlFiles(INSTANCES),
    take=with_attributes(["name", "data", "media", "answer", "scored"]),
)
"""Every task instance by name."""


def open_task(name: str | Path | TaskInstance) -> TaskInstance:
    """The task instance of a name, or of a TOML file anywhere.

    Raises:
        UnknownName: No such task; a path must end in .toml.
        FileUnreadable: No such file, or no TOML.
        InputInvalid: With every problem of the file.

    Example:
        >>> open_task("phase-c80").answer.classes[0]
        'Preparation'
    """
    if isinstance(name, TaskInstance):
        return name
    return read_task(name) if str(name).endswith(_ENDING) else TASKS[str(name)]
