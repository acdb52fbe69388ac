"""Forms of persons and teams; what they mean is decided by the acts, not here."""

from __future__ import annotations

from typing import Any
from zoneinfo import available_timezones

from django import forms
from django_countries import countries

from surgvalid.host.acts.tokens import SCOPES
from surgvalid.host.people.models import MemberRole


class ProfileForm(forms.Form):
    """What a person says about himself."""

    name = forms.CharField(label="Name", max_length=120, widget=forms.TextInput({"autocomplete": "name"}))
    institution = forms.CharField(
        label="Institution", max_length=200, required=False, widget=forms.TextInput({"autocomplete": "organization"})
    )
    country = forms.ChoiceField(
        label="Country",
        choices=[("", "choose"), *countries],
        help_text="Where you work. Some funders exclude countries; the rules say which.",
    )
    organiser_lab = forms.BooleanField(
        label="I work at an organiser's laboratory",
        required=False,
        help_text="You may take part and are listed; your team gets no awards.",
    )
    wants_mail = forms.BooleanField(label="Send me mail when a submission of my team changes", required=False)


class TeamForm(forms.Form):
    """A new team."""

    name = forms.CharField(label="Name of the team", max_length=60, help_text="It stands on the leaderboards.")


class InviteForm(forms.Form):
    """Somebody to invite."""

    email = forms.EmailField(label="E-mail address of the person")


class CoauthorsForm(forms.Form):
    """The team's authors of the paper."""

    names = forms.CharField(
        label="Co-authors, one per line", required=False, max_length=2000, widget=forms.Textarea({"rows": 3})
    )


class DeleteForm(forms.Form):
    """That somebody means it."""

    email = forms.EmailField(label="Your e-mail address, to confirm")


class TokenForm(forms.Form):
    """A token for the command line."""

    name = forms.CharField(label="What it is for", max_length=60, widget=forms.TextInput({"placeholder": "laptop"}))
    scope = forms.ChoiceField(label="It may", choices=SCOPES)


class BeginForm(forms.Form):
    """What a new challenge is called, and when it begins; all of it can be changed later."""

    name = forms.CharField(label="Name of the challenge", max_length=100)
    contact = forms.EmailField(label="Whom participants ask")
    time_zone = forms.ChoiceField(
        label="Time zone of its dates", choices=[(one, one) for one in sorted(available_timezones())], initial="UTC"
    )
    start = forms.DateField(label="First day", widget=forms.DateInput({"type": "date"}))


class RoleForm(forms.Form):
    """A role for somebody who has an account."""

    email = forms.EmailField(label="E-mail address of the account")
    role = forms.ChoiceField(label="Role", choices=MemberRole.choices)


class EligibilityForm(forms.Form):
    """What the organisers decide about a team."""

    may_take_part = forms.BooleanField(label="May take part", required=False)
    may_win = forms.BooleanField(label="May win prizes", required=False)
    reason = forms.CharField(label="Reason, which the team reads", max_length=300, required=False)


class QuotaForm(forms.Form):
    """Submissions given beyond the quota."""

    phase = forms.CharField(max_length=60)
    scored = forms.IntegerField(label="More scored", min_value=0, max_value=100, initial=1)
    attempts = forms.IntegerField(label="More attempts", min_value=0, max_value=100, initial=1)
    reason = forms.CharField(label="Reason", max_length=300)


class WorkerForm(forms.Form):
    """A token of a worker."""

    name = forms.CharField(label="Name of the worker", max_length=80, widget=forms.TextInput({"placeholder": "gpu-1"}))
    kind = forms.ChoiceField(
        label="What it does",
        choices=[
            ("inference", "runs programs of teams; never sees references"),
            ("trusted", "intake, scoring and leaderboards; never runs programs of teams"),
        ],
    )
    phases = forms.MultipleChoiceField(label="Phases", required=False, help_text="None chosen: all of them.")

    def __init__(self, *args: Any, phases: list[tuple[str, str]], **options: Any) -> None:
        super().__init__(*args, **options)
        self.fields["phases"].choices = phases  # type: ignore[attr-defined]


class AnnouncementForm(forms.Form):
    """Something to say to everybody."""

    title = forms.CharField(label="Title", max_length=200)
    text = forms.CharField(label="Text (Markdown)", max_length=20_000, widget=forms.Textarea({"rows": 6}))


class FlagForm(forms.Form):
    """What an organiser concluded about a flag."""

    kind = forms.ChoiceField(choices=[("browser", "browser"), ("image", "image")])
    key = forms.CharField(max_length=100)
    note = forms.CharField(label="What you concluded", max_length=300)
