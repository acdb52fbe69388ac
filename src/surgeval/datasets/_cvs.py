"""The three criteria of the critical view of safety, always by name.

Endoscapes numbers them C1 two structures, C2 hepatocystic triangle, C3 cystic plate; Cholec80-CVS stores the
plate before the triangle.
"""

from __future__ import annotations

CRITERIA = ("two_structures", "hepatocystic_triangle", "cystic_plate")
