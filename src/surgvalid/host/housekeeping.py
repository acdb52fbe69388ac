"""What a service does beside its pages: send mail, and sweep the store."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable

from django.db import connections

from surgvalid.host.acts.uploads import sweep
from surgvalid.host.outbox import send_waiting

DUTIES: dict[Callable[[], object], float] = {send_waiting: 2.0, sweep: 600.0}
"""What is done, and how many seconds after it was done last."""


class Housekeeping:
    """A thread beside the server; what goes wrong in it is logged, and tried again the next time."""

    def __init__(self, keep: Callable[[], object]) -> None:
        self._duties = {**DUTIES, keep: 2.0}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        last = dict.fromkeys(self._duties, time.monotonic())
        while not self._stop.wait(min(self._duties.values())):
            for duty in [one for one, pause in self._duties.items() if time.monotonic() - last[one] >= pause]:
                last[duty] = time.monotonic()
                try:
                    duty()
                except Exception:
                    logging.getLogger(__name__).exception("%s did not come to its end", duty.__name__)
            connections.close_all()
