"""The organisers' desk: a draft changes nothing, says what it means, and holds once it is adopted, or not at all."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.test import Client, override_settings

from host_service import FINAL, PRE, at_once
from host_world import World, scored, small_world
from surgvalid.errors import Misuse
from surgvalid.host import service
from surgvalid.host.acts.challenge import current_challenge, current_version
from surgvalid.host.acts.drafts import new_draft
from surgvalid.host.acts.refused import Refused
from surgvalid.host.people.acts import first_secret
from surgvalid.host.people.models import MemberRole, OrganiserRole
from surgvalid.host.runs.models import ChallengeVersion

pytestmark = pytest.mark.usefixtures("_no_second_factor")


@pytest.fixture
def _no_second_factor() -> object:
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False):
        yield


@pytest.fixture
def world(home: Path) -> World:
    return small_world(home)


def keep(client: Client, **given: str) -> str:
    """What the desk says after a form of it was sent."""
    named = {name.replace("__", "."): value for name, value in given.items()}
    return client.post("/organise/challenge/draft/", named, follow=True).content.decode()


def adopt(client: Client, note: str = "as we said") -> str:
    return client.post("/organise/challenge/adopt/", {"note": note}, follow=True).content.decode()


def test_a_changed_deadline_holds_after_its_adoption_and_everybody_reads_why(world: World) -> None:
    before, comment = current_challenge().phase(FINAL).closes, "# this second still belongs to the phase"
    editor = world.client("editor")
    text = keep(editor, phases__final__closes="2027-03-01T12:00:00")
    assert "phases.final.closes" in text
    assert current_challenge().phase(FINAL).closes == before
    adopt(editor, "the congress moved")
    assert f"{current_challenge().phase(FINAL).closes:%Y-%m-%d %H:%M}" == "2027-03-01 11:00"  # Berlin
    assert comment in (world.home / "challenge.toml").read_text()
    rules = world.client("stranger").get("/rules/").content.decode()
    assert "the congress moved" in rules
    assert "2027-03-01 11:00:00 UTC" in rules


def test_a_draft_says_what_it_takes_from_teams(world: World) -> None:
    for _ in range(2):
        scored(world.team, PRE)
    text = keep(
        world.client("editor"), **{f"phases__{PRE}__quota": "3", f"phases__{PRE}__closes": "2026-01-01T00:00:00"}
    )
    assert "closes must be after it opens" in text
    text = keep(world.client("editor"), **{f"phases__{PRE}__quota": "3"})
    assert "every team has 7 scored submissions fewer; 1 used as many already." in text


def test_what_has_problems_is_not_adopted_and_leaves_the_file_as_it_was(world: World) -> None:
    editor, kept = world.client("editor"), (world.home / "challenge.toml").read_bytes()
    for given, words in (
        ({f"phases__{PRE}__quota": "many"}, "must stay of its kind"),
        ({f"phases__{PRE}__quota": "50"}, "attempts must be at least the quota"),
        ({"do": "whole", "text": "name = "}, "no TOML"),
        ({"do": "drop", "kind": "phases", "slug": PRE}, "its qualification criterion names the phase"),
        ({"do": "copy", "kind": "phases", "slug": "third", "new": "x"}, "nknown phase"),
    ):
        text = keep(editor, **given)
        assert words in text.replace("&#x27;", "'"), given
        adopt(editor)
        assert (world.home / "challenge.toml").read_bytes() == kept
        keep(editor, do="discard")
    assert current_version().number == 1


def test_a_phase_in_which_somebody_took_part_stays_although_a_draft_drops_it(world: World) -> None:
    owner, kept = world.client("owner"), (world.home / "challenge.toml").read_bytes()
    keep(owner, do="copy", kind="phases", slug=PRE, new="smoke")
    keep(owner, phases__final__gate__phase="smoke")
    keep(owner, do="drop", kind="phases", slug=PRE)
    assert "must stay" in adopt(owner)
    assert (world.home / "challenge.toml").read_bytes() == kept
    assert not list(world.home.rglob("*.draft"))


def test_a_phase_and_a_baseline_are_added_and_texts_change(world: World) -> None:
    owner = world.client("owner")
    keep(owner, do="copy", kind="phases", slug=PRE, new="second")
    keep(owner, do="copy", kind="baselines", slug="open", new="third")
    text = keep(owner, **{"phases__second__title": "Second round", "texts/overview.md": "# We\n\n**New** words.\n"})
    assert "<strong>New</strong> words." in text
    assert "another text" in text
    adopt(owner)
    challenge = current_challenge()
    assert [phase.title for phase in challenge.phases] == ["Pre-evaluation", "Final", "Second round"]
    assert list(challenge.baselines) == ["closed", "open", "third"]
    assert "<strong>New</strong> words." in world.client("stranger").get("/").content.decode()


def test_a_draft_that_others_overtook_is_refused(world: World) -> None:
    editor, owner = world.client("editor"), world.client("owner")
    keep(editor, name="Mine")
    keep(owner, name="Ours")
    adopt(owner)
    assert "changed by somebody else" in adopt(editor)
    path = world.home / "challenge.toml"
    keep(owner, do="discard")
    keep(owner, contact="us@example.org")
    path.write_text(path.read_text().replace("Ours", "By hand"))
    assert "changed by somebody else" in adopt(owner)
    assert current_challenge().name == "Ours"
    assert "By hand" in world.client("editor").get("/organise/challenge/").content.decode()


def test_what_names_files_is_for_owners_and_no_page_shows_a_secret(world: World) -> None:
    editor, owner = world.client("editor"), world.client("owner")
    keep(editor, texts__rules="texts/data.md")
    assert "only an owner changes texts.rules" in adopt(editor).lower()
    for name in ("secret.key", "private/final/references.json", "../other.md", "/etc/hostname"):
        text = keep(owner, texts__rules=name)
        assert "This draft cannot hold" in text, name
        adopt(owner)
        secret = (world.home / "secret.key").read_text()
        assert secret not in text
        assert secret not in world.client("stranger").get("/rules/").content.decode()
    assert current_version().number == 1


@pytest.mark.database
def test_of_twenty_drafts_that_are_adopted_at_once_one_holds(world: World) -> None:
    begun = new_draft()
    texts = [begun.text.replace("Example challenge", f"Draft {number}") for number in range(20)]
    came = at_once(20, lambda number: begun.having(**{"challenge.toml": texts[number]}).adopt("user-1", "at once"))
    held = [number for number, one in enumerate(came) if isinstance(one, ChallengeVersion)]
    assert len(held) == 1
    assert {one.code for one in came if isinstance(one, Refused)} == {"draft-outdated"}
    assert ChallengeVersion.objects.count() == 2
    assert (world.home / "challenge.toml").read_text() == current_version().text == texts[held[0]]


def test_the_first_owner_comes_in_by_the_address_and_nobody_after(home: Path) -> None:
    from host_people import RULES, ready_person

    people = [ready_person(name, rules=RULES) for name in ("one", "two")]
    clients = [Client(), Client()]
    for client, one in zip(clients, people, strict=True):
        client.force_login(one, backend="allauth.account.auth_backends.AuthenticationBackend")
    address = f"/begin/{first_secret()}/"
    given = {"name": "Sponges 2027", "contact": "a@b.org", "time_zone": "Europe/Berlin", "start": "2027-01-01"}
    assert clients[0].post("/begin/x/", given).status_code == 200
    assert Client().post(address, given).status_code == 302
    assert not OrganiserRole.objects.exists()
    assert b"First day" in clients[0].post(address, given | {"start": "soon"}, follow=True).content
    assert not (home / "challenge.toml").exists()
    assert b"No version holds yet" in clients[0].post(address, given, follow=True).content
    assert OrganiserRole.objects.get().user == people[0]
    adopt(clients[0], "the beginning")
    assert (current_challenge().name, current_challenge().slug) == ("Sponges 2027", "sponges-2027")
    assert current_challenge().zone == "Europe/Berlin"
    assert first_secret() == ""
    assert b"opens nothing any more" in clients[1].post(address, given).content
    assert OrganiserRole.objects.get().role == MemberRole.OWNER


def test_a_folder_with_other_things_is_not_taken_for_an_empty_one(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(Misuse, match=r"holds no challenge\.toml"):
        service.set_up(tmp_path, first=True)
    assert [one.name for one in tmp_path.iterdir()] == ["thesis.tex"]
