"""Public data sets and exports of annotation tools, one file each."""
