"""What programs speak to: uploads and submissions of teams, and jobs of workers. Everything is JSON but bytes."""

__all__ = ()
