"""What every verb gives back: results, the folders they are written to and read from, manifests, declared tables."""

from surgvalid.results.reading import StoredResult, read
from surgvalid.results.request import VerbRequest, requested
from surgvalid.results.result import Result, TableResult

__all__ = [
    "Result",
    "StoredResult",
    "TableResult",
    "VerbRequest",
    "folder",
    "manifest",
    "read",
    "reading",
    "registered_data",
    "registration",
    "request",
    "requested",
    "result",
    "signatures",
    "tables",
]
