"""Persons and teams."""

from __future__ import annotations

from typing import Any, ClassVar

from django.contrib.auth.models import AbstractBaseUser, BaseUserManager, PermissionsMixin
from django.db import models


class UserManager(BaseUserManager["User"]):
    """Makes users."""

    def create_user(self, email: str, password: str | None = None, **facts: Any) -> User:
        """A new user."""
        user = self.model(email=self.normalize_email(email).lower(), **facts)
        user.set_password(password)
        user.save()
        return user


class User(AbstractBaseUser, PermissionsMixin):
    """A person, known by an e-mail address."""

    email = models.EmailField(unique=True)
    is_active = models.BooleanField(default=True)
    USERNAME_FIELD = "email"
    objects: ClassVar[UserManager] = UserManager()


class Team(models.Model):
    """Persons who take part together."""

    name = models.CharField(max_length=80, unique=True)


class Membership(models.Model):
    """One person in one team; nobody is in two."""

    user = models.OneToOneField(User, on_delete=models.CASCADE)
    team = models.ForeignKey(Team, on_delete=models.CASCADE)
    leader = models.BooleanField(default=False)
