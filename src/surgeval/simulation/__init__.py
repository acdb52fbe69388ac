"""Simulated procedures."""
