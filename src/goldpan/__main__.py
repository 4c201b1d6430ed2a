"""The program `goldpan`, as `python -m goldpan`."""

from goldpan.cli import main

if __name__ == "__main__":
    main()
