"""What persons see: pages for visitors, teams and organisers. Each is a row of `table`, with who may open it."""

__all__ = ()
