"""What every verb gives back: results, the folders they are written to and read from, manifests, declared tables."""

from surgeval.results.reading import StoredResult, read
from surgeval.results.request import Request, requested
from surgeval.results.result import Result
from surgeval.results.table_result import TableResult

__all__ = [
    "Request",
    "Result",
    "StoredResult",
    "TableResult",
    "folder",
    "manifest",
    "read",
    "reading",
    "registration",
    "request",
    "requested",
    "result",
    "signatures",
    "table_result",
    "tables",
]
