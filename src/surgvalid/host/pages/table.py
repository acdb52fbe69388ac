"""Every page: its address, who may open it, and by which methods. A page that is not here does not exist."""

from __future__ import annotations

from typing import NamedTuple

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
    methods: tuple[str, ...] = READ


PAGES = (
    Page("", public.home, "home", Allow.EVERYONE),
    Page("rules/", public.rules, "rules", Allow.EVERYONE),
    Page("data/", public.data, "data", Allow.EVERYONE),
    Page("data/<str:name>", public.data_file, "data_file", Allow.SIGNED_IN),
    Page("news/", public.announcements, "announcements", Allow.EVERYONE),
    Page("boards/", boards.boards, "boards", Allow.EVERYONE),
    Page("boards/<slug:phase>/<slug:board>/", boards.board, "board", Allow.EVERYONE),
    Page("boards/<slug:phase>/<slug:board>/table.csv", boards.board_table, "board_table", Allow.EVERYONE),
    Page("boards/<slug:phase>/<slug:board>/picture.svg", boards.board_picture, "board_picture", Allow.EVERYONE),
    Page("health", monitoring.health, "health", Allow.EVERYONE),
    Page("metrics", monitoring.metrics, "metrics", Allow.EVERYONE),
    Page("terms/", accounts.terms, "terms", Allow.EVERYONE),
    Page("terms/agree/", accounts.agree, "agree", Allow.SIGNED_IN, WRITE),
    Page("account/", accounts.account, "account", Allow.SIGNED_IN),
    Page("account/profile/", accounts.save_profile, "save_profile", Allow.SIGNED_IN, WRITE),
    Page("account/tokens/", accounts.make_token, "make_token", Allow.SIGNED_IN, WRITE),
    Page("account/tokens/<int:token>/revoke/", accounts.revoke_token, "revoke_token", Allow.SIGNED_IN, WRITE),
    Page("account/second-factor/", accounts.second_factor, "second_factor", Allow.SIGNED_IN),
    Page("account/data.json", accounts.export, "export", Allow.SIGNED_IN),
    Page("account/delete/", accounts.delete, "delete", Allow.SIGNED_IN, BOTH),
    Page("invitation/<str:secret>/", team.invitation, "invitation", Allow.SIGNED_IN, BOTH),
    Page("team/", team.team, "team", Allow.SIGNED_IN),
    Page("team/found/", team.found_team, "found_team", Allow.SIGNED_IN, WRITE),
    Page("team/invite/", team.invite, "invite", Allow.MEMBER, WRITE),
    Page("team/invitations/<int:invitation>/revoke/", team.revoke, "revoke_invitation", Allow.MEMBER, WRITE),
    Page("team/leave/", team.leave, "leave", Allow.MEMBER, WRITE),
    Page("team/lead/", team.hand_lead, "hand_lead", Allow.MEMBER, WRITE),
    Page("team/coauthors/", team.coauthors, "coauthors", Allow.MEMBER, WRITE),
    Page("team/merge/", team.ask_to_merge, "ask_to_merge", Allow.MEMBER, WRITE),
    Page("team/merge/<int:asked>/", team.answer_merge, "answer_merge", Allow.MEMBER, WRITE),
    Page("team/compare/", team.compare, "compare", Allow.MEMBER),
    Page("submit/", submissions.submit, "submit", Allow.MEMBER),
    Page("submissions/<int:number>/", submissions.submission, "submission", Allow.ITS_TEAM),
    Page("submissions/<int:number>/state/", submissions.state, "submission_state", Allow.ITS_TEAM),
    Page("submissions/<int:number>/cancel/", submissions.cancel, "cancel", Allow.ITS_TEAM, WRITE),
    Page("submissions/<int:number>/description/", submissions.description, "description", Allow.ITS_TEAM),
    Page("submissions/<int:number>/containers.txt", submissions.container_text, "own_text", Allow.ITS_TEAM),
    Page("organise/", organise.organise, "organise", Allow.VIEWER),
    Page("organise/submissions/", organise.submissions, "organise_submissions", Allow.VIEWER),
    Page("organise/submissions/<int:number>/", organise.submission, "organise_submission", Allow.VIEWER),
    Page("organise/submissions/<int:number>/containers.txt", organise.container_text, "container_text", Allow.EDITOR),
    Page("organise/submissions/<int:number>/judge/", organise.judge, "judge", Allow.JUDGE, WRITE),
    Page(
        "organise/submissions/<int:number>/<slug:act>/",
        organise.act_on_submission,
        "act_on_submission",
        Allow.EDITOR,
        WRITE,
    ),
    Page("organise/descriptions/", organise.descriptions, "organise_descriptions", Allow.VIEWER),
    Page("organise/teams/", organise.all_teams, "organise_teams", Allow.VIEWER),
    Page("organise/teams/<int:team>/", organise.one_team, "organise_team", Allow.VIEWER),
    Page("organise/teams/<int:team>/quota/", organise.grant, "grant_quota", Allow.EDITOR, WRITE),
    Page("organise/teams/<int:team>/eligibility/", organise.eligibility, "decide_eligibility", Allow.EDITOR, WRITE),
    Page("organise/boards/", publishing.snapshots, "organise_boards", Allow.VIEWER),
    Page("organise/boards/again/", publishing.refresh, "refresh_boards", Allow.EDITOR, WRITE),
    Page("organise/boards/<int:number>/", publishing.snapshot, "organise_snapshot", Allow.VIEWER),
    Page("organise/boards/<int:number>/publish/", publishing.publish, "publish", Allow.OWNER, WRITE),
    Page("organise/boards/<int:number>/withdraw/", publishing.withdraw, "withdraw", Allow.OWNER, WRITE),
    Page("organise/boards/<int:number>/embargo/", publishing.embargo, "embargo", Allow.EDITOR, WRITE),
    Page("organise/boards/<int:number>/prizes/", publishing.propose, "propose_prizes", Allow.EDITOR, WRITE),
    Page("organise/boards/<int:number>/prizes/<int:proposal>/", publishing.sign, "sign_prizes", Allow.OWNER, WRITE),
    Page(
        "organise/boards/<int:number>/prizes/<int:proposal>/withdraw/",
        publishing.withdraw_prizes,
        "withdraw_prizes",
        Allow.OWNER,
        WRITE,
    ),
    Page("organise/gate/", publishing.gate, "organise_gate", Allow.VIEWER),
    Page("organise/gate/decide/", publishing.open_gate, "decide_gate", Allow.EDITOR, WRITE),
    Page("organise/flags/", organise.all_flags, "organise_flags", Allow.VIEWER),
    Page("organise/flags/review/", organise.review_flag, "review_flag", Allow.EDITOR, WRITE),
    Page("organise/news/", organise.news, "organise_news", Allow.VIEWER),
    Page("organise/news/say/", organise.say, "announce", Allow.EDITOR, WRITE),
    Page("organise/roles/", organise.roles, "organise_roles", Allow.VIEWER),
    Page("organise/roles/give/", organise.give_role, "give_role", Allow.OWNER, WRITE),
    Page("organise/workers/", administration.workers, "organise_workers", Allow.VIEWER),
    Page("organise/workers/make/", administration.make_worker, "make_worker", Allow.OWNER, WRITE),
    Page("organise/workers/here/", administration.worker_here, "worker_here", Allow.OWNER, WRITE),
    Page("organise/workers/<int:token>/revoke/", administration.revoke_worker, "revoke_worker", Allow.OWNER, WRITE),
    Page("organise/costs/", administration.costs, "organise_costs", Allow.VIEWER),
    Page("organise/exports/", administration.exports, "organise_exports", Allow.EDITOR),
    Page("organise/exports/make/", administration.make_export, "make_export", Allow.EDITOR, WRITE),
    Page("organise/exports/<str:name>", administration.export_file, "export_file", Allow.EDITOR),
    Page("organise/coauthors/", administration.listed, "organise_coauthors", Allow.VIEWER),
    Page("organise/coauthors/table.csv", administration.listed_table, "coauthors_table", Allow.VIEWER),
    Page("organise/challenge/", desk.desk, "desk", Allow.EDITOR),
    Page("organise/challenge/draft/", desk.change_draft, "change_draft", Allow.EDITOR, WRITE),
    Page("organise/challenge/adopt/", desk.adopt_draft, "adopt_draft", Allow.EDITOR, WRITE),
    Page("begin/<str:secret>/", desk.begin, "begin", Allow.SIGNED_IN, BOTH),
    Page("organise/log/", organise.log, "organise_log", Allow.VIEWER),
)


def patterns() -> list[URLPattern]:
    """The pages as Django's addresses, each behind its check."""
    return [path(one.route, guarded(one.view, one.allow, one.methods), name=one.name) for one in PAGES]
