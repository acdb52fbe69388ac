"""Public data sets and what annotation tools write: one file each.

A file with `KIND = "data set"` is a data set and holds `DATA_SET`; `open_data_set` finds it by name. The
other public files read and write what annotation tools use; `read_annotations` finds them by name or content.
"""

from surgeval.datasets._about import UNKNOWN as UNKNOWN
from surgeval.datasets._about import About as About
from surgeval.datasets._about import Annotations as Annotations
from surgeval.datasets._about import Film as Film
from surgeval.datasets._catalogue import DATA_SETS as DATA_SETS
from surgeval.datasets._catalogue import open_data_set as open_data_set
from surgeval.datasets._comparison import Comparison as Comparison
from surgeval.datasets._data_set import STRATA as STRATA
from surgeval.datasets._data_set import DataSet as DataSet
from surgeval.datasets._data_set import References as References
from surgeval.datasets._data_set import Report as Report
from surgeval.datasets._data_set import Task as Task
from surgeval.datasets._folder import Folder as Folder
from surgeval.datasets._join import join_procedures as join_procedures
from surgeval.datasets._joins import joined as joined
from surgeval.datasets._joins import sampled as sampled
from surgeval.datasets._leakage import leakage_table as leakage_table
from surgeval.datasets._leakage import shared_videos as shared_videos
from surgeval.datasets._questions import question_rows as question_rows
from surgeval.datasets._tools import IMAGE_TOOLS as IMAGE_TOOLS
from surgeval.datasets._tools import TOOLS as TOOLS
from surgeval.datasets._tools import read_annotations as read_annotations
from surgeval.datasets._tools import recognised_tool as recognised_tool
from surgeval.datasets._tools import write_annotations as write_annotations

__all__ = [
    "DATA_SETS",
    "IMAGE_TOOLS",
    "STRATA",
    "TOOLS",
    "UNKNOWN",
    "About",
    "Annotations",
    "Comparison",
    "DataSet",
    "Film",
    "Folder",
    "References",
    "Report",
    "Task",
    "coco",
    "cvat_review",
    "endoscapes2023",
    "join_procedures",
    "joined",
    "label_studio_review",
    "leakage_table",
    "open_data_set",
    "question_rows",
    "read_annotations",
    "recognised_tool",
    "sampled",
    "shared_videos",
    "write_annotations",
]
