"""What every verb gives back: results, the folders they are written to and read from, manifests, declared tables."""

__all__ = ["manifest", "table_result", "tables"]
