"""Score tables and whatever is read into them: files, columns, numbers as written, missing scores, facts."""

__all__ = [
    "column_words",
    "missing",
    "read_rows",
    "score_columns",
    "score_matrix",
    "score_table",
    "shown_tables",
    "spellings",
    "splits",
    "statistics_table",
    "table_facts",
    "table_files",
    "table_reading",
    "tabular",
    "units",
    "workbooks",
]
