"""The tables and figures of a paper's supplement, from scored models: one file per section.

A section calls public functions of `surgvalid.stats`, shows their tables and charts, and says in sentences what they
hold. It computes nothing itself. What cannot be given becomes a sentence that says why.
"""

__all__ = ["supplement"]
