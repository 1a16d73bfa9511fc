"""How far a long command has come, how fast, and how long it will take; on stderr."""

from __future__ import annotations

from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    ProgressColumn,
    SpinnerColumn,
    Task,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.text import Text

from guardian.cli.console import err


class RateColumn(ProgressColumn):
    """Items a second."""

    def render(self, task: Task) -> Text:
        """Give the rate, once there is one."""
        return Text(f"{task.speed:,.0f}/s" if task.speed else "")


class RowsColumn(ProgressColumn):
    """Rows done and rows a second, where progress is in bytes; the task's field `rows` counts them."""

    def render(self, task: Task) -> Text:
        """Give both."""
        rows = task.fields.get("rows", 0)
        rate = f", {rows / task.elapsed:,.0f}/s" if task.elapsed else ""
        return Text(f"{rows:,} rows{rate}")


def build_progress(*, by_bytes: bool = False) -> Progress:
    """Build the progress bar: what is done, how fast, time left; of items, or of bytes with rows beside them."""
    measure = (DownloadColumn(binary_units=True), TransferSpeedColumn(), RowsColumn())
    return Progress(
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(),
        *(measure if by_bytes else (MofNCompleteColumn(), RateColumn())),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
        console=err,
        transient=False,
    )
