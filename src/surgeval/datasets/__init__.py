"""Public data sets and exports of annotation tools, one file each.

A file with `KIND = "data set"` is a data set and holds `DATA_SET`; `open_data_set` finds it by name. The
other public files read what annotation tools write.
"""

from surgeval.datasets._data_set import DataSet as DataSet
from surgeval.datasets._data_set import References as References
from surgeval.datasets._data_set import Report as Report
from surgeval.datasets._data_set import Task as Task
from surgeval.datasets._joins import joined as joined
from surgeval.datasets._joins import sampled as sampled
from surgeval.datasets._kinds import data_set_names as data_set_names
from surgeval.datasets._kinds import open_data_set as open_data_set
from surgeval.datasets._leakage import leakage_table as leakage_table
from surgeval.datasets._leakage import shared_videos as shared_videos

__all__ = [
    "DataSet",
    "References",
    "Report",
    "Task",
    "data_set_names",
    "joined",
    "leakage_table",
    "open_data_set",
    "sampled",
    "shared_videos",
]
