"""The image of a leaderboard is drawn once, for whoever looks, in light and in dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client
from django.urls import reverse

from host_service import at_once
from host_world import World, small_world
from surgvalid.host.pages import boards
from surgvalid.host.people.models import Team

ADDRESS = {"phase": "pre-evaluation", "board": "technical"}


@pytest.fixture
def world(home: Path) -> World:
    return small_world(home)


def test_it_is_drawn_once_for_everybody(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn: list[bool] = []
    real = boards._drawn_picture

    def counted(*given: object, dark: bool) -> str:
        drawn.append(dark)
        return real(*given, dark=dark)  # type: ignore[arg-type]

    monkeypatch.setattr(boards, "_drawn_picture", counted)
    light, dark = reverse("board_picture", kwargs=ADDRESS), reverse("board_picture", kwargs=ADDRESS) + "?dark"
    answers = at_once(8, lambda number: Client().get(dark if number % 2 else light))
    assert sorted(drawn) == [False, True]
    assert {one.status_code for one in answers} == {200}
    assert len({one.content for one in answers}) == 2
    tag = Client().get(light).headers["ETag"]
    assert Client().get(light, headers={"If-None-Match": tag}).status_code == 304
    assert Client().get(dark, headers={"If-None-Match": tag}).status_code == 200
    assert len(drawn) == 2
    assert "prefers-color-scheme: dark" in Client().get(reverse("board", kwargs=ADDRESS)).content.decode()
    team = Team.objects.get(pk=world.team.pk)
    team.name = "Countess"
    team.save()
    world.client("member").post(reverse("coauthors"), {"names": "Ada"})  # names are read again after an act
    assert "Countess" in Client().get(light).content.decode()
    assert len(drawn) == 3
