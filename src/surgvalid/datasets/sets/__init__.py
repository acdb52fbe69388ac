"""Public data sets, a TOML file each, named by the file; the module of the same name reads what no layout covers."""

__all__ = ["endoscapes2023"]
