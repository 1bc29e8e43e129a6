"""`python -m brittle`: the command line, where the script `brittle` is not on the path."""

from brittle.cli import main

if __name__ == "__main__":
    main()
