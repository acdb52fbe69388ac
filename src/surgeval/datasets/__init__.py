"""Public data sets and exports of annotation tools, one file each.

The file of an annotation tool is named after it and offers `read` and `write`; `read_annotations` finds the tool.
"""

from surgeval.datasets._about import About as About
from surgeval.datasets._about import Annotations as Annotations
from surgeval.datasets._join import join_procedures as join_procedures
from surgeval.datasets._tools import TOOLS as TOOLS
from surgeval.datasets._tools import read_annotations as read_annotations
from surgeval.datasets._tools import recognised_tool as recognised_tool
from surgeval.datasets._tools import write_annotations as write_annotations

__all__ = [
    "TOOLS",
    "About",
    "Annotations",
    "join_procedures",
    "read_annotations",
    "recognised_tool",
    "write_annotations",
]
