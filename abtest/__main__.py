"""`python -m abtest` is the same as `abtest`."""

from abtest.cli.main import entry

if __name__ == "__main__":
    entry()
