"""A public class name stands for one thing in the whole house."""

from __future__ import annotations

import ast
from collections import defaultdict

from docs.house_page import SOURCE


def test_no_public_class_of_one_subpackage_is_called_as_one_of_another() -> None:
    homes: dict[str, set[str]] = defaultdict(set)
    for path in SOURCE.glob("*/**/*.py"):
        room = path.relative_to(SOURCE).parts[0]
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                homes[node.name].add(room)
    assert {name: sorted(rooms) for name, rooms in homes.items() if len(rooms) > 1} == {}
