"""One of each kind of part that surgvalid takes from other packages; `pyproject.toml` says what is where."""
