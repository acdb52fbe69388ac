"""Persons, their teams, and what they agreed to."""
