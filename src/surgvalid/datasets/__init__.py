"""Public data sets and what annotation tools write: one file each.

A TOML file of `sets` declares a data set, and a module beside it reads what no layout covers; `open_data_set` finds it
by name. Files of `tools` read and write what annotation tools use; `read_annotations` finds them by name or content.
"""

from surgvalid.datasets._catalogue import DATA_SETS as DATA_SETS
from surgvalid.datasets._catalogue import open_data_set as open_data_set
from surgvalid.datasets._data_set import STRATA as STRATA
from surgvalid.datasets._data_set import Comparison as Comparison
from surgvalid.datasets._data_set import DataReport as DataReport
from surgvalid.datasets._data_set import DataSet as DataSet
from surgvalid.datasets._data_set import DataTask as DataTask
from surgvalid.datasets._data_set import References as References
from surgvalid.datasets._folder import DataFolder as DataFolder
from surgvalid.datasets._joins import leakage_table as leakage_table
from surgvalid.datasets._joins import sampled as sampled
from surgvalid.datasets._joins import shared_videos as shared_videos
from surgvalid.datasets._layouts import question_rows as question_rows
from surgvalid.datasets._procedures import labelled_videos as labelled_videos
from surgvalid.datasets.tools._about import UNKNOWN as UNKNOWN
from surgvalid.datasets.tools._about import About as About
from surgvalid.datasets.tools._about import Annotations as Annotations
from surgvalid.datasets.tools._about import VideoFile as VideoFile
from surgvalid.datasets.tools._join import join_procedures as join_procedures
from surgvalid.datasets.tools._tools import IMAGE_TOOLS as IMAGE_TOOLS
from surgvalid.datasets.tools._tools import TOOLS as TOOLS
from surgvalid.datasets.tools._tools import drawn_images as drawn_images
from surgvalid.datasets.tools._tools import read_annotations as read_annotations
from surgvalid.datasets.tools._tools import recognised_tool as recognised_tool
from surgvalid.datasets.tools._tools import write_annotations as write_annotations

__all__ = [
    "DATA_SETS",
    "IMAGE_TOOLS",
    "STRATA",
    "TOOLS",
    "UNKNOWN",
    "About",
    "Annotations",
    "Comparison",
    "DataFolder",
    "DataReport",
    "DataSet",
    "DataTask",
    "References",
    "VideoFile",
    "drawn_images",
    "join_procedures",
    "labelled_videos",
    "leakage_table",
    "open_data_set",
    "question_rows",
    "read_annotations",
    "recognised_tool",
    "sampled",
    "sets",
    "shared_videos",
    "tools",
    "write_annotations",
]
