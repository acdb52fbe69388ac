"""Wrong answers and worst cases one by one, with what was asked, what is right and what every model said."""

__all__ = ()
