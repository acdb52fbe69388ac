"""A task on one's own images, declared in the TOML file beside this one."""

from __future__ import annotations

from pathlib import Path

from surgvalid.tasks import open_task

TASK = open_task(Path(__file__).with_name("smoke-in-view.toml"))
