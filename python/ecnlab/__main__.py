"""`python -m ecnlab` is the command `ecnlab`."""

from ecnlab.cli import main

if __name__ == "__main__":
    main()
