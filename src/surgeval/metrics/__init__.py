"""Metrics: arrays in, numbers out; one file per family."""
