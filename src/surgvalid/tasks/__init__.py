"""Task instances as data: media, prompts, answer form, metrics and published rows in one TOML file each."""

from surgvalid.tasks.reading import TASKS, open_task
from surgvalid.tasks.run import STORE, parse_run, run_task
from surgvalid.tasks.task import TaskInstance

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
    "responses",
    "result",
    "run",
    "run_task",
    "task",
    "viewer",
]
