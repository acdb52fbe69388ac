"""Phases and other labels over time: frames, segments, transitions and stability."""

__all__ = ["frames", "videos"]
