"""Run Guardian as `python -m guardian`."""

from guardian.cli.main import run

if __name__ == "__main__":
    run()
