"""`python -m surgvalid` is the command line."""

from surgvalid.cli import main

if __name__ == "__main__":
    main()
