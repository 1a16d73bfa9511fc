"""The application `guardian`: its commands, and what an error becomes.

Exit codes: 0 done, 1 finished with dead letters, 2 wrong use or settings, 69 something Guardian leans on is away, 70 a bug of
Guardian, 130 interrupted.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import typer

from guardian.cli.alerts import alerts
from guardian.cli.answer import answer
from guardian.cli.audit import audit
from guardian.cli.audit_calibration import activate, deactivate, recompute
from guardian.cli.audit_families import families
from guardian.cli.audit_run import run as audit_run
from guardian.cli.cards import cards
from guardian.cli.compact import compact
from guardian.cli.console import err, say_error
from guardian.cli.context import context
from guardian.cli.dead_letters import dead_letters
from guardian.cli.demo import demo
from guardian.cli.doctor import doctor
from guardian.cli.drift import drift
from guardian.cli.embed import embed
from guardian.cli.erase import erase
from guardian.cli.export import export
from guardian.cli.holdings import holdings
from guardian.cli.ledger import ledger
from guardian.cli.migrate import migrate
from guardian.cli.replay import replay
from guardian.cli.search import search
from guardian.cli.serve import mcp, serve
from guardian.cli.settings import settings
from guardian.cli.show import show
from guardian.cli.simulate import simulate
from guardian.cli.sources import sources
from guardian.cli.topics import topics
from guardian.cli.worker import worker
from guardian.errors import ConfigError, DependencyError, GuardianError, InvariantError, RecordError
from guardian.telemetry.log import configure_logging

# Of click, or of the copy of click that newer versions of typer carry.
USAGE_ERROR: type[Any] = typer.BadParameter.__mro__[2]
USAGE, AWAY, BUG, INTERRUPTED = 2, 69, 70, 130

app = typer.Typer(
    no_args_is_help=True,
    rich_markup_mode="rich",
    pretty_exceptions_enable=False,
    help="Guard the write path of agents' memory: provenance, supersession, boundary cards, honest utility.\n\n"
    "Start with [bold]guardian demo[/bold]. Replay what you kept with [bold]guardian replay FILE[/bold], look at what was decided "
    "with [bold]guardian show SPACE MEMORY_ID[/bold], and guard live topics with [bold]guardian worker[/bold].",
    epilog="Exit codes: 0 done, 1 finished with dead letters, 2 wrong use or settings, 69 something is away, 70 a bug, 130 interrupted.",
)
for command in (
    demo,
    worker,
    replay,
    show,
    search,
    context,
    serve,
    mcp,
    answer,
    export,
    erase,
    holdings,
    embed,
    migrate,
    compact,
    drift,
    alerts,
    simulate,
    doctor,
    settings,
):
    app.command()(command)
audit.command("families")(families)
audit.command("activate")(activate)
audit.command("deactivate")(deactivate)
audit.command("recompute")(recompute)
audit.command("run")(audit_run)
app.add_typer(audit, name="audit")
app.add_typer(cards, name="cards")
app.add_typer(ledger, name="ledger")
app.add_typer(sources, name="sources")
app.add_typer(topics, name="topics")
app.add_typer(dead_letters, name="dead-letters")


def run() -> None:
    """Run the command line and end the process with its exit code; what serves logs by its own settings."""
    configure_logging("WARNING")
    sys.exit(call(sys.argv[1:]))


def call(arguments: list[str]) -> int:
    """Run one command and give its exit code; every expected error is one message that names the mend."""
    if not all(_is_text(each) or Path(each).exists() for each in arguments):
        say_error("an argument is no UTF-8, and no file or folder. Mend: write it in UTF-8.")
        return USAGE
    try:
        code = app(args=arguments, prog_name="guardian", standalone_mode=False)
    except USAGE_ERROR as exc:
        exc.show()
        return USAGE
    except (typer.Abort, KeyboardInterrupt):
        say_error("interrupted; what was reported as done is done.")
        return INTERRUPTED
    except GuardianError as exc:
        say_error(str(exc))
        return _code_of(exc)
    except BrokenPipeError:
        return 0  # whoever read our output has enough
    except OSError as exc:
        say_error(
            f"{exc.filename or 'the operating system'}: {exc.strerror or exc}. Mend: check the path, its permissions and the free disk."
        )
        return USAGE
    except Exception:  # noqa: BLE001 # the outer edge of the program: a bug is told as one, never as dead letters
        err.print_exception(suppress=[typer])
        say_error(
            "this is a bug of Guardian; nothing that was not reported as done was done. Please report it with the lines above."
        )
        return BUG
    return code if isinstance(code, int) else 0


def _is_text(argument: str) -> bool:
    """Tell whether an argument came in UTF-8; other bytes become halves of characters, which neither store nor broker takes."""
    return argument.isascii() or not any("\ud800" <= char <= "\udfff" for char in argument)


def _code_of(error: GuardianError) -> int:
    match error:
        case ConfigError() | RecordError():
            return USAGE
        case DependencyError():
            return AWAY
        case InvariantError():
            return BUG
        case _:
            return AWAY
