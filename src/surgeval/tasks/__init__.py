"""Task instances as data: media, prompts, answer form, metrics and published rows in one TOML file each."""

from surgeval.tasks._catalogue import TASKS as TASKS
from surgeval.tasks._catalogue import open_task as open_task
from surgeval.tasks.run import STORE as STORE
from surgeval.tasks.run import parse_run as parse_run
from surgeval.tasks.run import run_task as run_task
from surgeval.tasks.task import TaskInstance as TaskInstance

__all__ = [
    "STORE",
    "TASKS",
    "TaskInstance",
    "board",
    "listing",
    "open_task",
    "parse_run",
    "prepare",
    "questions",
    "result",
    "run",
    "run_task",
    "task",
]
