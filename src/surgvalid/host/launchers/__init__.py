"""Start workers on a cluster. The job table stays the record; a launcher only starts workers."""

__all__ = ()
