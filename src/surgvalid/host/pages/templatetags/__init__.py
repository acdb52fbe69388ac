"""Words that templates use."""

__all__ = ()
