"""Sentences on pages are true of what they stand beside, and lead to what can be done next."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Iterator
from datetime import timedelta
from html import unescape
from pathlib import Path
from typing import Any

import pytest
import typer
from django.core import mail
from django.test import Client, override_settings
from django.urls import reverse

from host_world import World, board_with, scored, small_world
from surgvalid.cli import build_app
from surgvalid.errors import InputInvalid
from surgvalid.host import pages
from surgvalid.host.acting import now
from surgvalid.host.acts import boards, gates, publishing
from surgvalid.host.acts.challenge import adopt_challenge, current_challenge
from surgvalid.host.acts.refused import REMEDIES
from surgvalid.host.acts.tokens import worker_of
from surgvalid.host.costs import cost_of
from surgvalid.host.pages.history import NEXT_BY_STAGE
from surgvalid.host.pages.templatetags.house import megabytes
from surgvalid.host.people.models import Team
from surgvalid.host.runs.models import BoardSnapshot, LogEntry, Submission

FINDINGS = [
    {"code": "tie", "message": "team-1, baseline-open stay partly tied", "subject": "technical leaderboard"},
    {
        "code": "few",
        "message": "6 videos cannot reach significance.",
        "subject": "technical leaderboard, aggregation, ID",
    },
    {
        "code": "few",
        "message": "6 videos cannot reach significance.",
        "subject": "technical leaderboard, aggregation, OOD",
    },
]


@pytest.fixture
def world(home: Path) -> Iterator[World]:
    mails = "django.core.mail.backends.locmem.EmailBackend"
    with override_settings(ORGANISERS_NEED_SECOND_FACTOR=False, EMAIL_BACKEND=mails):
        yield small_world(home)


def read(client: Client, name: str, **parts: object) -> str:
    """The words of a page."""
    text = client.get(reverse(name, kwargs=parts)).content.decode()
    return " ".join(unescape(re.sub(r"<[^>]+>", " ", text)).split())


def final_board(submission: Submission) -> BoardSnapshot:
    made = board_with(submission, "final", "technical", published=False)
    changed = {name: getattr(made, name) for name in ("phase", "board", "at", "version", "rule", "inputs", "tables")}
    return BoardSnapshot.objects.create(
        **changed, number=made.number + 1, findings=FINDINGS, log_number=0, log_digest="", digest="1" * 64
    )


def test_a_board_says_what_limits_it_to_everybody_and_in_words(world: World) -> None:
    snapshot = final_board(scored(world.team, "final"))
    publishing.publish("user-1", snapshot, reason="the conference")
    for words in (
        read(Client(), "board", phase="final", board="technical"),
        read(world.client("viewer"), "organise_snapshot", number=snapshot.pk),
    ):
        assert "Lovelace lab, An open model, fine-tuned stay partly tied" in words
        assert "6 videos cannot reach significance (aggregation, ID; aggregation, OOD)" in words
        assert "'code'" not in words


def test_an_embargo_that_is_over_asks_for_the_second_act(world: World) -> None:
    snapshot = final_board(scored(world.team, "final"))
    publishing.embargo("user-1", snapshot, now() + timedelta(days=1), reason="the conference")
    owner = world.client("owner")
    assert "embargo until" in read(owner, "organise_snapshot", number=snapshot.pk)
    publishing.embargo("user-1", snapshot, now() - timedelta(seconds=1), reason="the conference was moved")
    for words in (read(owner, "organise_snapshot", number=snapshot.pk), read(owner, "organise_boards")):
        assert re.search(r"embargo over since .*, not published yet", words)
    assert boards.public_leaderboard("final", "technical") is None


def test_a_hidden_result_is_not_called_in_and_says_when_it_will_be(world: World) -> None:
    mail.outbox = []
    first = scored(world.team, "final")
    second = scored(world.team, "final")
    assert [sent.body for sent in mail.outbox if "See where your team stands" in sent.body] == []
    member = world.client("member")
    assert "shown when its leaderboard is published" in read(member, "submission", number=first.pk)
    assert "See where your team stands" not in read(member, "submission", number=first.pk)
    publishing.publish("user-1", final_board(second), reason="the conference")
    other = "The leaderboards of this phase have another submission of your team: the last submission counts."
    assert other in read(member, "submission", number=first.pk)
    assert "0.612 mean accuracy over buckets" in read(member, "submission", number=second.pk)
    assert "See where your team stands" in read(member, "submission", number=world.submission.pk)


def test_organisers_see_what_the_teams_name_for_the_paper_and_who_earned_it(world: World) -> None:
    Team.objects.filter(pk=world.team.pk).update(coauthors="Ada Lovelace\n=Bob()")
    gates.decide_by_hand("user-1", world.team, "final", opened=True, reason="they beat both")
    words = read(world.client("viewer"), "organise_coauthors")
    assert "Lovelace lab yes Ada Lovelace =Bob() Babbage lab no none named yet" in words
    table = world.client("viewer").get(reverse("coauthors_table")).content.decode().splitlines()
    assert table == ["team,passed a gate,author", "Lovelace lab,yes,Ada Lovelace", "Lovelace lab,yes,'=Bob()"]


def test_the_forecast_is_that_of_the_command_line(world: World) -> None:
    phase = current_challenge().phase("pre-evaluation")
    wanted = cost_of(phase, world.home, teams=75)
    text = world.client("viewer").get(reverse("organise_costs"), {"teams": "75"}).content.decode()
    assert f"{wanted.quota_hours:,.1f} h" in text
    assert f"{wanted.attempts_hours:,.1f} h" in text
    assert "2 teams registered so far" in text
    (world.home / phase.questions / "request.json").unlink()
    assert "It cannot be told" in read(world.client("viewer"), "organise_costs")


def test_a_token_of_a_worker_is_shown_once_works_and_is_taken_back(world: World) -> None:
    client = world.client("owner")
    fields = {"name": "gpu-1", "kind": "inference", "phases": ["final"]}
    client.post(reverse("make_worker"), fields)
    text = found(r"sgw_[\w-]+", client.get(reverse("organise_workers")).content.decode())
    assert text not in client.get(reverse("organise_workers")).content.decode()
    made = worker_of(text)
    assert made is not None
    assert (made.duties, made.phases) == (["inference"], ["final"])
    assert "A worker is or was called" in told(client, fields)
    assert "Select a valid choice" in told(client, fields | {"name": "x", "phases": ["warm-up"]})
    client.post(reverse("revoke_worker", kwargs={"token": made.pk}))
    assert worker_of(text) is None
    assert "revoked" in read(client, "organise_workers")


def told(client: Client, fields: dict[str, Any]) -> str:
    return client.post(reverse("make_worker"), fields, follow=True).content.decode()


def found(pattern: str, text: str) -> str:
    match = re.search(pattern, text)
    assert match is not None, text
    return match[0]


@pytest.mark.parametrize("hidden", [False, True])
def test_an_export_is_made_noted_and_fetched_on_the_page(world: World, hidden: bool) -> None:
    secret = scored(world.team, "final")
    board_with(secret, "final", "technical", published=False)
    client = world.client("editor")
    client.post(reverse("make_export"), {"hidden": "yes"} if hidden else {})
    shown = client.get(reverse("organise_exports")).content.decode()
    (name,) = re.findall(r'href="/organise/exports/([\w-]+\.tar)"', shown)
    assert ("hidden values" in shown) == hidden
    with tarfile.open(fileobj=io.BytesIO(client.get(reverse("export_file", kwargs={"name": name})).getvalue())) as made:
        member = made.extractfile(name.replace(".tar", "/boards.csv"))
        assert member is not None
        assert ("final" in member.read().decode()) == hidden
    assert LogEntry.objects.filter(act="export", subject=name.removesuffix(".tar")).exists()
    for wrong in ("..%2fhost.sqlite3", "nothing.tar"):
        assert client.get(f"/organise/exports/{wrong}").status_code == 404


def test_a_phase_in_which_somebody_took_part_stays_in_the_file(world: World) -> None:
    """Without it every page of the team broke, and nothing could be scored."""
    path = world.home / "challenge.toml"
    path.write_text(path.read_text().replace('"pre-evaluation"', '"warm-up"'))
    with pytest.raises(InputInvalid, match=r"pre-evaluation.*1 submission"):
        adopt_challenge("system", "a better name")
    assert current_challenge().phase("pre-evaluation")


def test_every_command_that_a_page_names_exists() -> None:
    application = typer.main.get_command(build_app())
    folder = Path(pages.__file__).parent
    texts = [path.read_text() for path in folder.rglob("*.html")] + [*NEXT_BY_STAGE.values(), *REMEDIES.values()]
    named = {line for text in texts for line in re.findall(r"surgvalid ((?:[a-z-]+ ?)+)", text)}
    assert len(named) > 5
    wrong = []
    for line in named:
        command, words = application, line.split()
        while words and hasattr(command, "list_commands"):
            command = command.get_command(None, words.pop(0))
        if command is None:
            wrong.append(line)
    assert wrong == []


def test_the_form_offers_what_intake_reads(world: World) -> None:
    text = world.client("member").get(reverse("submit")).content.decode()
    assert 'accept=".tar,.gz,.xz"' in found(r'<input[^>]*id="image"[^>]*>', text)


@pytest.mark.parametrize(
    ("size", "words"), [(12, "12 bytes"), (2048, "2.0 KiB"), (3 << 20, "3.0 MiB"), (5 << 30, "5.0 GiB")]
)
def test_sizes_are_said_in_the_unit_that_fits(size: int, words: str) -> None:
    assert megabytes(size) == words
