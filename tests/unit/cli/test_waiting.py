"""Nobody who waits for a verb looks at an empty screen for more than two seconds."""

import io
import sys
import threading

import pytest

from surgvalid.cli import _waiting
from surgvalid.cli._console import progress_bar, talk
from surgvalid.cli._waiting import held, waiting


class Screen(io.StringIO):
    """Stderr that says whether it is a terminal, and when something was written."""

    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal, self.written = terminal, threading.Event()

    def isatty(self) -> bool:
        return self.terminal

    def write(self, text: str) -> int:
        if "working" in text:
            self.written.set()
        return super().write(text)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_waiting, "SILENT_S", 0.02)
    monkeypatch.setattr(_waiting, "LOGGED_EVERY_S", 0.02)


def screen(monkeypatch: pytest.MonkeyPatch, *, terminal: bool) -> Screen:
    made = Screen(terminal)
    monkeypatch.setattr(sys, "stderr", made)
    return made


@pytest.mark.parametrize("terminal", [True, False])
def test_work_that_says_nothing_is_told_of(quick: None, monkeypatch: pytest.MonkeyPatch, terminal: bool) -> None:
    shown = screen(monkeypatch, terminal=terminal)
    with waiting("surgvalid rank"):
        assert shown.written.wait(30)
    assert "surgvalid rank: working for 0 s" in shown.getvalue()
    assert shown.getvalue().endswith("\r\x1b[K" if terminal else "\n")


def test_what_is_said_takes_the_line_away_first(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, terminal=True)
    with waiting("surgvalid rank"):
        assert shown.written.wait(30)
        talk("a result")
    assert "\r\x1b[Ka result\n" in shown.getvalue()


def test_a_bar_stands_alone(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, terminal=True)
    with waiting("surgvalid data simulate"), progress_bar("seconds", 3) as step:
        step(1)
        shown.written.clear()
        assert not shown.written.wait(0.2)


def test_nothing_is_shown_where_nobody_began_a_verb(quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    shown = screen(monkeypatch, terminal=True)
    with held():
        talk("only this")
    assert shown.getvalue() == "only this\n"
