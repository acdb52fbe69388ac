"""A whole challenge on this machine: a server, its workers, teams, and submissions that really were run and scored.

Programs of the demo are started as plain processes of this machine; what somebody hands in on its pages is run by
podman or docker, where one is installed.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from allauth.account.models import EmailAddress

from surgvalid.host import places, service
from surgvalid.host.acts import boards, challenge, tokens
from surgvalid.host.acts.refused import Refused
from surgvalid.host.acts.tokens import KINDS
from surgvalid.host.challenge.example import ENTRANT
from surgvalid.host.client import Host, push_submission
from surgvalid.host.people.acts import give_role, save_profile
from surgvalid.host.people.models import MemberRole, User
from surgvalid.host.people.rules import accept_terms, rules_now
from surgvalid.host.people.teams import found_team
from surgvalid.host.runs.models import Submission, WorkerToken
from surgvalid.host.worker import WorkerOptions, work
from surgvalid.results.manifest import sha256_of
from surgvalid.sandbox import write_own_image
from surgvalid.submissions.stages import Stage
from surgvalid.submissions.starter import new_pack

PASSWORD = "look-at-the-colour-7"
OWNER = "organiser@example.org"
BASELINES = {"closed": 0.55, "open": 0.62}
TEAMS = {"Aurora": (0.7, 0.9), "Borealis": (0.75,), "Cirrus": (0.5, 0.58), "Dune": (0.85,)}
"""How often the submissions of each team are right, in their order."""
PRE = "pre-evaluation"


def run_demo(folder: Path, *, port: int, say: Callable[[str], None]) -> None:
    """Fill the folder once, then serve it until somebody ends it."""
    service.migrate()
    challenge.adopt_challenge("system", "the demo")
    with serving(port) as url:
        if not boards_are_filled():
            say("filling the leaderboards; this takes a minute, and goes on where it was stopped")
            fill(url, folder)
        say(f"{url}\nsign in as {OWNER} (organiser) or aurora@example.org (team), password {PASSWORD}; Ctrl-C ends it")
        for kind in KINDS:
            with suppress(Refused):  # from an earlier start
                tokens.worker_here("system", kind)
        threading.Event().wait()


@contextmanager
def serving(port: int = 0) -> Iterator[str]:
    """The address of the service, which runs in a thread."""
    address: list[str] = []
    listening = threading.Event()

    def ready(url: str) -> None:
        address.append(url)
        listening.set()

    threading.Thread(target=service.serve, args=("127.0.0.1", port), kwargs={"ready": ready}, daemon=True).start()
    listening.wait(30)
    yield address[0]


def fill(url: str, folder: Path) -> None:
    """Register people, and take every submission of the demo the whole way."""
    owner = _person(OWNER, "Olga Organiser")
    give_role(owner, MemberRole.OWNER, by=None)
    crew = _Crew(url, folder)
    for name, skill in BASELINES.items():
        crew.enter(owner, name, skill, baseline=name)
    for number in range(2):
        for name, skills in TEAMS.items():
            if number < len(skills):
                crew.enter(_leader(name), f"{name}-{number + 1}", skills[number])
    crew.trusted("scoring")
    crew.trusted()


def _person(email: str, name: str) -> User:
    known = User.objects.filter(email=email).first()
    if known is not None:
        return known
    user = User.objects.create_user(email, PASSWORD)
    EmailAddress.objects.create(user=user, email=email, verified=True, primary=True)
    save_profile(user, name=name, institution="Example", country="DE", organiser_lab=False, wants_mail=False)
    accept_terms(user, rules_now())
    return User.objects.get(pk=user.pk)


def _leader(team: str) -> User:
    user = _person(f"{team.lower()}@example.org", f"{team} Leader")
    if not user.memberships.exists():
        found_team(user, f"Team {team}", rules_now())
    return user


class _Crew:
    """The workers of the demo, called step by step while it is filled."""

    def __init__(self, url: str, folder: Path) -> None:
        self.url, self.folder = url, folder
        self.texts = worker_tokens()

    def enter(self, person: User, name: str, skill: float, *, baseline: str = "") -> None:
        """Hand a program in and have it run, unless that was done before."""
        place = self.folder / "programs" / name
        new_pack(place, force=True)
        (place / "app.py").write_text(ENTRANT.replace("{skill}", str(skill)).replace("{name}", name), encoding="utf-8")
        image = write_own_image(place / "image.tar", "app", (place / "app.py").read_bytes())
        known = Submission.objects.filter(image__digest=sha256_of(image)).first()
        if known is not None and known.stage in (Stage.INFERRED, Stage.SCORED):
            return
        host = Host(self.url, tokens.make_access_token("system", person, f"demo {name}")[1])
        if known is None:
            push_submission(host, image, phase=PRE, baseline=baseline)
        self.trusted("intake")
        options = WorkerOptions(
            scratch=self.folder / "workers" / "inference",
            engine="process",
            program=(sys.executable, str(place / "app.py")),
        )
        work(Host(self.url, self.texts["inference"]), options, most_jobs=9)

    def trusted(self, *duties: str) -> None:
        """Look at what came, score what was run, make the leaderboards; or some of it."""
        options = WorkerOptions(scratch=self.folder / "workers" / "trusted", challenge=places.home(), duties=duties)
        work(Host(self.url, self.texts["trusted"]), options, most_jobs=99)


def worker_tokens() -> dict[str, str]:
    """Fresh tokens of the two workers; those of an earlier start are revoked."""
    texts = {}
    for name, duties in KINDS.items():
        for old in WorkerToken.objects.filter(name__startswith=f"demo-{name}", revoked_at=None):
            tokens.revoke_worker_token("system", old)
        number = WorkerToken.objects.count() + 1
        texts[name] = tokens.make_worker_token("system", f"demo-{name}-{number}", duties)[1]
    return texts


def boards_are_filled() -> bool:
    """Whether both leaderboards of the first phase are public; for tests of the demo."""
    return all(boards.public_leaderboard(PRE, board) is not None for board in ("technical", "clinical"))
