"""`python -m komadori` is the `komadori` command."""

from komadori.cli import main

if __name__ == "__main__":
    main()
