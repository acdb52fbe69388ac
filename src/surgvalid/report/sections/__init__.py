"""One file per section of a report; `section(inputs)` gives it.

To add one: write the file, and name it in `SECTIONS` and in the templates that should have it. A section for
which the folder holds nothing says what is missing and which command would make it.
"""

__all__ = ["answers"]
