"""Accounts, teams and what each person agreed to; written by the acts of this app alone.

Names without a column are those that Django adds: numbers of other rows, and rows that refer to this one.
"""

from __future__ import annotations

from datetime import timedelta
from typing import Any, ClassVar

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower
from django.utils import timezone

INVITATION_DAYS = 14


class UserManager(BaseUserManager["User"]):
    """Makes accounts; an e-mail address is compared without regard to case."""

    def create_user(self, email: str, password: str | None = None, **fields: Any) -> User:
        """The new account; without a password it can only come in by a reset or another provider."""
        user = self.model(email=email.strip().lower(), **fields)
        user.set_password(password)
        user.save(using=self._db)
        return user

    def get_by_natural_key(self, username: str | None) -> User:
        """The account with that e-mail address in any case."""
        return self.get(email__iexact=username)


class User(AbstractBaseUser):
    """One person, known by an e-mail address."""

    email = models.EmailField(unique=True)
    name = models.CharField(max_length=120, blank=True)
    institution = models.CharField(max_length=200, blank=True)
    country = models.CharField(max_length=2, blank=True)  # ISO 3166-1 alpha-2, as declared
    organiser_lab = models.BooleanField(default=False)
    wants_mail = models.BooleanField(default=True)
    is_active = models.BooleanField(default=True)
    date_joined = models.DateTimeField(default=timezone.now)
    deleted_at = models.DateTimeField(null=True, blank=True)
    past_address = models.CharField(max_length=64, blank=True, default="", db_index=True)
    """Of a deleted account: a keyed digest of its address, by which its person is known again."""

    objects: ClassVar[UserManager] = UserManager()
    memberships: Any
    acceptances: Any

    USERNAME_FIELD = "email"
    EMAIL_FIELD = "email"
    REQUIRED_FIELDS: ClassVar[list[str]] = []

    class Meta:
        """Two spellings of one address are one account."""

        constraints = (models.UniqueConstraint(Lower("email"), name="people_user_email_any_case"),)

    def __str__(self) -> str:
        return str(self.name or self.email)


class Team(models.Model):
    """The unit that submits: its members share quota, history and place."""

    name = models.CharField(max_length=60)
    leader = models.ForeignKey(User, on_delete=models.PROTECT, related_name="leads")
    institution = models.CharField(max_length=200, blank=True)
    created_at = models.DateTimeField(default=timezone.now)
    merged_into = models.ForeignKey("self", null=True, blank=True, on_delete=models.PROTECT, related_name="merged")
    coauthors = models.TextField(blank=True)
    leader_id: int
    merged_into_id: int | None
    memberships: Any
    invitations: Any
    submissions: Any

    class Meta:
        """One name once, in any case."""

        constraints = (models.UniqueConstraint(Lower("name"), name="people_team_name_once"),)

    def __str__(self) -> str:
        return str(self.name)


class Membership(models.Model):
    """A person in a team; at most one at a time per person."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="memberships")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="memberships")
    joined_at = models.DateTimeField(default=timezone.now)
    left_at = models.DateTimeField(null=True, blank=True)
    user_id: int

    class Meta:
        """The database itself refuses a second team, whatever two requests do at the same moment."""

        constraints = (
            models.UniqueConstraint(fields=["user"], condition=Q(left_at__isnull=True), name="people_one_team_each"),
        )


class Invitation(models.Model):
    """An offer to one e-mail address to join one team; the secret is stored as a digest."""

    team = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="invitations")
    email = models.EmailField()
    secret_sha256 = models.CharField(max_length=64, unique=True)
    invited_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)
    team_id: int

    @property
    def is_open(self) -> bool:
        """Whether it can still be accepted."""
        fresh = timezone.now() < self.created_at + timedelta(days=INVITATION_DAYS)
        return fresh and self.accepted_at is None and self.revoked_at is None


class MergeRequest(models.Model):
    """The leader of one team asks another to take its members in."""

    source = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_asked")
    target = models.ForeignKey(Team, on_delete=models.CASCADE, related_name="merges_offered")
    asked_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    created_at = models.DateTimeField(default=timezone.now)
    decided_at = models.DateTimeField(null=True, blank=True)
    source_id: int
    target_id: int

    class Meta:
        """A team asks one other at a time."""

        constraints = (
            models.UniqueConstraint(
                fields=["source"], condition=Q(decided_at__isnull=True), name="people_one_open_merge"
            ),
        )


class TermsAcceptance(models.Model):
    """That one person agreed to one version of the terms, with the digest of the text that was shown."""

    user = models.ForeignKey(User, on_delete=models.PROTECT, related_name="acceptances")
    version = models.CharField(max_length=40)
    text_sha256 = models.CharField(max_length=64)
    accepted_at = models.DateTimeField(default=timezone.now)

    class Meta:
        """Agreed once per version."""

        constraints = (models.UniqueConstraint(fields=["user", "version", "text_sha256"], name="people_terms_once"),)


class Eligibility(models.Model):
    """What the organisers decided about a team, with the reason that it is shown."""

    team = models.OneToOneField(Team, on_delete=models.CASCADE, related_name="eligibility")
    may_take_part = models.BooleanField(default=True)
    may_win = models.BooleanField(default=True)
    reason = models.CharField(max_length=300, blank=True)
    decided_by = models.ForeignKey(User, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    decided_at = models.DateTimeField(default=timezone.now)


class MemberRole(models.TextChoices):
    """What an organiser may do; each later one may do less."""

    OWNER = "owner", "owner: everything, roles and prizes too"
    EDITOR = "editor", "editor: runs the challenge"
    JUDGE = "judge", "judge: reads method descriptions and decides about them"
    VIEWER = "viewer", "viewer: sees everything, changes nothing"


class OrganiserRole(models.Model):
    """The role of one person among the organisers."""

    user = models.OneToOneField(User, on_delete=models.PROTECT, related_name="organiser_role")
    role = models.CharField(max_length=10, choices=MemberRole.choices)
    given_at = models.DateTimeField(default=timezone.now)


class BrowserSighting(models.Model):
    """That an account signed in from a browser; several accounts of one browser are a flag, not a proof."""

    browser_sha256 = models.CharField(max_length=64, db_index=True)
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sightings")
    first_seen = models.DateTimeField(default=timezone.now)
    last_seen = models.DateTimeField(default=timezone.now)

    class Meta:
        """One row per browser and account."""

        constraints = (models.UniqueConstraint(fields=["browser_sha256", "user"], name="people_browser_once"),)


class FlagReview(models.Model):
    """What an organiser made of a flag, so that the next one need not ask again."""

    kind = models.CharField(max_length=10)
    key = models.CharField(max_length=100)
    note = models.CharField(max_length=300)
    reviewed_by = models.ForeignKey(User, on_delete=models.PROTECT, related_name="+")
    reviewed_at = models.DateTimeField(default=timezone.now)

    class Meta:
        """The last word on each flag."""

        constraints = (models.UniqueConstraint(fields=["kind", "key"], name="people_flag_once"),)
