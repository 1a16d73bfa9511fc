"""Run Guardian, as the command `guardian` or as `python -m guardian`."""

import sys

# 128 and the number of SIGINT, as shells count.
_INTERRUPTED = 130


def run() -> None:
    """Load the command line and run it; an interrupt while it loads ends without a traceback."""
    try:
        from guardian.cli.main import run as run_command_line  # noqa: PLC0415 # takes half a second, in which people press Ctrl-C
    except KeyboardInterrupt:
        sys.exit(_INTERRUPTED)
    run_command_line()


if __name__ == "__main__":
    run()
