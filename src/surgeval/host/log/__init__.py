"""The log: append-only, each entry sealed with the one before."""
