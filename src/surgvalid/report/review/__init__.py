"""A page on which people confirm, correct or object to questions and instances, each with an address of their own."""

__all__ = ["items", "log", "server"]
