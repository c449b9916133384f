"""`python -m heedful`: the command, where it is not on the path."""

from heedful.cli.app import main

if __name__ == "__main__":
    main()
