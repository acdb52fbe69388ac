"""Settings shared by the whole suite."""

import os
from collections.abc import Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from chromium import ARGUMENTS, CHROMIUM

# Workers share the cores already; read by the libraries when they are loaded, and by every program that a test starts.
# Small tables cost polars a fifth more CPU on two threads than on one.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("POLARS_MAX_THREADS", "1")

# In continuous integration the examples are the same every time; elsewhere each run looks further.
settings.register_profile(
    "house",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    derandomize="CI" in os.environ,
    max_examples=20,  # `make test-slow` takes 300
)
settings.register_profile("thorough", settings.get_profile("house"), derandomize=False, max_examples=300)
settings.load_profile("house")


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    """The system's Chromium; a test that asks for it says what to do where there is none."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield opened
        opened.close()
