"""A server is asked as much at once as it bears."""

import asyncio

import pytest

from surgvalid.asking.connections import Pace


def test_the_number_grows_while_replies_stay_quick_and_no_further_than_allowed() -> None:
    pace = Pace(8)
    for _ in range(20):
        pace.went(0.1)
    assert pace.at_once == 8


def test_the_number_holds_while_replies_are_slower() -> None:
    pace = Pace(8)
    pace.went(0.1)
    reached = pace.at_once
    for _ in range(20):
        pace.went(0.5)
    assert pace.at_once == reached


def test_a_stumble_halves_the_number_once_for_all_that_were_under_way() -> None:
    async def run() -> list[int]:
        pace = Pace(16, first=8)
        async with pace.turn(), pace.turn(), pace.turn():
            numbers = [pace.at_once]
            for _ in range(4):
                pace.stumbled()
                numbers.append(pace.at_once)
        return numbers

    assert asyncio.run(run()) == [8, 4, 4, 4, 2]


def test_one_question_is_always_allowed() -> None:
    pace = Pace(0)
    for _ in range(5):
        pace.stumbled()
    assert pace.at_once == 1


@pytest.mark.parametrize("first", [1, 3])
def test_no_more_are_under_way_than_the_number(first: int) -> None:
    async def run() -> int:
        pace, now, most = Pace(3, first=first), 0, 0

        async def one() -> None:
            nonlocal now, most
            async with pace.turn():
                now += 1
                most = max(most, now)
                await asyncio.sleep(0)
                now -= 1

        await asyncio.gather(*(one() for _ in range(20)))
        return most

    assert asyncio.run(run()) == first


def test_a_server_that_works_one_by_one_is_not_flooded() -> None:
    pace = Pace(16)
    pace.went(0.1)
    for _ in range(200):
        pace.went(0.1 * pace.at_once)
    assert pace.at_once <= 3
