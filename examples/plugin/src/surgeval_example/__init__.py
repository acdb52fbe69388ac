"""One of each kind of part that surgeval takes from other packages; `pyproject.toml` says what is where."""
