"""Start workers on clusters: one file each. The job table stays the record; a launcher only starts workers."""

__all__ = ()
