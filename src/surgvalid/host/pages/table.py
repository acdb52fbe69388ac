"""Every page: its address, who may open it, and by which methods. A page that is not here does not exist."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from django.urls import URLPattern, path

from surgvalid.host.api import monitoring
from surgvalid.host.pages import accounts, administration, boards, desk, organise, public, publishing, submissions, team
from surgvalid.host.pages.permissions import Allow, View, guarded

READ, WRITE, BOTH = ("GET",), ("POST",), ("GET", "POST")


class Page(NamedTuple):
    """One page."""

    route: str
    view: View
    name: str
    allow: Allow
    methods: tuple[str, ...]


def _pages(allow: Allow, methods: tuple[str, ...], *rows: tuple[Any, ...]) -> Iterator[Page]:
    """Pages that the same people may open: address, view, and its name where it is not that of the view."""
    for route, view, *name in rows:
        yield Page(route, view, name[0] if name else view.__name__, allow, methods)


PAGES = (
    *_pages(
        Allow.EVERYONE,
        READ,
        ("", public.home),
        ("rules/", public.rules),
        ("data/", public.data),
        ("news/", public.announcements),
        ("boards/", boards.boards),
        ("boards/<slug:phase>/<slug:board>/", boards.board),
        ("boards/<slug:phase>/<slug:board>/table.csv", boards.board_table),
        ("boards/<slug:phase>/<slug:board>/picture.svg", boards.board_picture),
        ("health", monitoring.health),
        ("metrics", monitoring.metrics),
        ("terms/", accounts.terms),
    ),
    *_pages(
        Allow.SIGNED_IN,
        READ,
        ("data/<str:name>", public.data_file),
        ("account/", accounts.account),
        ("account/second-factor/", accounts.second_factor),
        ("account/data.json", accounts.export),
        ("team/", team.team),
    ),
    *_pages(
        Allow.SIGNED_IN,
        WRITE,
        ("terms/agree/", accounts.agree),
        ("account/profile/", accounts.save_profile),
        ("account/tokens/", accounts.make_token),
        ("account/tokens/<int:token>/revoke/", accounts.revoke_token),
        ("team/found/", team.found_team),
    ),
    *_pages(
        Allow.SIGNED_IN,
        BOTH,
        ("account/delete/", accounts.delete),
        ("invitation/<str:secret>/", team.invitation),
        ("begin/<str:secret>/", desk.begin),
    ),
    *_pages(
        Allow.MEMBER,
        READ,
        ("team/compare/", team.compare),
        ("submit/", submissions.submit),
    ),
    *_pages(
        Allow.MEMBER,
        WRITE,
        ("team/invite/", team.invite),
        ("team/invitations/<int:invitation>/revoke/", team.revoke, "revoke_invitation"),
        ("team/leave/", team.leave),
        ("team/lead/", team.hand_lead),
        ("team/coauthors/", team.coauthors),
    ),
    *_pages(
        Allow.ITS_TEAM,
        READ,
        ("submissions/<int:number>/", submissions.submission),
        ("submissions/<int:number>/state/", submissions.state, "submission_state"),
        ("submissions/<int:number>/description/", submissions.description),
        ("submissions/<int:number>/containers.txt", submissions.container_text, "own_text"),
    ),
    *_pages(
        Allow.ITS_TEAM,
        WRITE,
        ("submissions/<int:number>/cancel/", submissions.cancel),
    ),
    *_pages(
        Allow.VIEWER,
        READ,
        ("organise/", organise.organise),
        ("organise/submissions/", organise.submissions, "organise_submissions"),
        ("organise/submissions/<int:number>/", organise.submission, "organise_submission"),
        ("organise/descriptions/", organise.descriptions, "organise_descriptions"),
        ("organise/teams/", organise.all_teams, "organise_teams"),
        ("organise/teams/<int:team>/", organise.one_team, "organise_team"),
        ("organise/boards/", publishing.snapshots, "organise_boards"),
        ("organise/boards/<int:number>/", publishing.snapshot, "organise_snapshot"),
        ("organise/gate/", publishing.gate, "organise_gate"),
        ("organise/flags/", organise.all_flags, "organise_flags"),
        ("organise/news/", organise.news, "organise_news"),
        ("organise/roles/", organise.roles, "organise_roles"),
        ("organise/workers/", administration.workers, "organise_workers"),
        ("organise/costs/", administration.costs, "organise_costs"),
        ("organise/coauthors/", administration.listed, "organise_coauthors"),
        ("organise/coauthors/table.csv", administration.listed_table, "coauthors_table"),
        ("organise/log/", organise.log, "organise_log"),
    ),
    *_pages(
        Allow.JUDGE,
        WRITE,
        ("organise/submissions/<int:number>/judge/", organise.judge),
    ),
    *_pages(
        Allow.EDITOR,
        READ,
        ("organise/submissions/<int:number>/containers.txt", organise.container_text),
        ("organise/exports/", administration.exports, "organise_exports"),
        ("organise/exports/<str:name>", administration.export_file),
        ("organise/challenge/", desk.desk),
        ("organise/baselines/", desk.baselines),
    ),
    *_pages(
        Allow.EDITOR,
        WRITE,
        ("organise/submissions/<int:number>/<slug:act>/", organise.act_on_submission),
        ("organise/teams/<int:team>/quota/", organise.grant, "grant_quota"),
        ("organise/teams/<int:team>/eligibility/", organise.eligibility, "decide_eligibility"),
        ("organise/boards/again/", publishing.refresh, "refresh_boards"),
        ("organise/boards/<int:number>/embargo/", publishing.embargo),
        ("organise/boards/<int:number>/prizes/", publishing.propose, "propose_prizes"),
        ("organise/gate/decide/", publishing.open_gate, "decide_gate"),
        ("organise/flags/review/", organise.review_flag),
        ("organise/news/say/", organise.say, "announce"),
        ("organise/exports/make/", administration.make_export),
        ("organise/challenge/draft/", desk.change_draft),
        ("organise/challenge/adopt/", desk.adopt_draft),
    ),
    *_pages(
        Allow.OWNER,
        WRITE,
        ("organise/boards/<int:number>/publish/", publishing.publish),
        ("organise/boards/<int:number>/withdraw/", publishing.withdraw),
        ("organise/boards/<int:number>/prizes/<int:proposal>/", publishing.sign, "sign_prizes"),
        ("organise/boards/<int:number>/prizes/<int:proposal>/withdraw/", publishing.withdraw_prizes),
        ("organise/roles/give/", organise.give_role),
        ("organise/workers/make/", administration.make_worker),
        ("organise/workers/here/", administration.worker_here),
        ("organise/workers/<int:token>/revoke/", administration.revoke_worker),
    ),
)


def patterns() -> list[URLPattern]:
    """The pages as Django's addresses, each behind its check."""
    return [path(one.route, guarded(one.view, one.allow, one.methods), name=one.name) for one in PAGES]
