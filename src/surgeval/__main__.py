"""`python -m surgeval` is the command line."""

from surgeval.cli import main

if __name__ == "__main__":
    main()
