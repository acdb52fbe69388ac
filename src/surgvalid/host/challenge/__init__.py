"""The challenge as one versioned file. No web framework is needed to read or check it."""

__all__ = ["challenge", "drafts", "example", "reading"]
