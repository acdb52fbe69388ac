"""How an asking goes, told in one line."""

import threading
from collections.abc import Callable

import pytest

from surgvalid.asking.meter import Meter, advance, expect, reporting


def ticking() -> tuple[Callable[[], float], list[float]]:
    now = [0.0]
    return lambda: now[0], now


def test_the_line_has_rate_failures_and_time_left() -> None:
    clock, now = ticking()
    meter = Meter("asking m", clock=clock)
    meter.expect(200)
    for _ in range(40):
        now[0] += 0.5
        meter.count(failed=meter.done % 10 == 0)
    assert meter.line() == "asking m: 40 of 200, 4 failed, 2 per s, 1 min 20 s left"


def test_nothing_to_do_is_not_spoken_of() -> None:
    assert Meter("judging").line() == ""


def test_a_server_that_says_nothing_is_said_to() -> None:
    clock, now = ticking()
    meter = Meter("asking m", clock=clock)
    meter.expect(125)
    now[0] = 500.0
    assert meter.line() == "asking m: 0 of 125, 0 failed, no reply yet"


def test_what_was_reused_neither_speeds_up_the_rate_nor_shortens_the_time_left() -> None:
    clock, now = ticking()
    meter = Meter("judging", clock=clock)
    meter.expect(1010)
    meter.count(1000, reused=True)
    now[0] = 10.0
    meter.count(5)
    assert (meter.per_second, meter.left_s) == (0.5, 10.0)
    assert "1000 reused" in meter.line()


def test_time_left_counts_what_must_be_asked_and_not_what_is_equal() -> None:
    clock, now = ticking()
    meter = Meter("asking m", clock=clock)
    meter.expect(1000)
    meter.requests = 20
    now[0] = 10.0
    meter.count(5)
    meter.count(245, reused=True)
    assert meter.left_s == 30.0


def test_the_rate_is_that_of_late_and_sinks_while_nothing_comes() -> None:
    clock, now = ticking()
    meter = Meter("judging", clock=clock)
    meter.expect(10_000)
    for _ in range(1000):
        now[0] += 1.0
        meter.count()
    for _ in range(400):
        now[0] += 0.1
        meter.count()
    assert meter.per_second == pytest.approx(10.0, rel=0.01)
    now[0] += 25.5
    assert meter.per_second == pytest.approx(5.0, rel=0.01)


@pytest.mark.parametrize(("left", "words"), [(59, "59 s"), (61, "1 min 1 s"), (3600, "1 h 0 min"), (7325, "2 h 2 min")])
def test_time_left_is_told_in_units_that_fit(left: int, words: str) -> None:
    clock, now = ticking()
    meter = Meter("m", clock=clock)
    meter.expect(left + 1)
    now[0] = 1.0
    meter.count()
    assert meter.line().endswith(f"{words} left")


def test_the_line_is_said_again_and_again_also_while_nothing_happens() -> None:
    lines: list[str] = []
    thrice = threading.Event()

    def say(line: str) -> None:
        lines.append(line)
        if len(lines) == 3:
            thrice.set()

    with reporting(Meter("asking m"), say, every_s=0.005) as meter:
        meter.expect(7)
        assert thrice.wait(10)
    said = len(lines)
    assert lines[0] == "asking m: 0 of 7, 0 failed, no reply yet"
    assert not [thread for thread in threading.enumerate() if thread.name == "surgvalid-meter"]
    assert len(lines) == said


def test_whoever_listens_hears_what_it_can_hear() -> None:
    steps: list[int] = []
    meter = Meter("m")
    for listener in (steps.append, meter, None):
        expect(listener, 5)
        advance(listener, 2, failed=1)
        advance(listener, 3, reused=True)
    assert steps == [2, 3]
    assert (meter.total, meter.done, meter.failed, meter.reused) == (5, 5, 1, 3)
