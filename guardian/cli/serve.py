"""`guardian serve` and `guardian mcp`: memory for agents, over HTTP and over the Model Context Protocol."""

from __future__ import annotations

import asyncio
from typing import Annotated, Any

import typer

from guardian.cli.opening import StoreOption
from guardian.settings import load_settings
from guardian.wiring import run_mcp, run_serve


def serve(
    store: StoreOption = None,
    bind: Annotated[str | None, typer.Option(help="Address. Default: the settings'.", show_default=False)] = None,
    port: Annotated[
        int | None, typer.Option(min=0, max=65535, help="Port; 0 takes a free one. Default: the settings'.", show_default=False)
    ] = None,
) -> None:
    """Serve memory over HTTP: calibrated contexts, search, explanations, writes and corrections, with a key for each caller.

    Listens on this machine only, unless keys are set. Events go to the broker where one is set, else this process decides, and owns
    the embedded store. Ends with 0 on SIGTERM, after the requests in hand.
    """
    settings = load_settings()
    given: dict[str, Any] = {name: value for name, value in (("bind", bind), ("port", port)) if value is not None}
    settings = settings.model_copy(update={"serve": settings.serve.model_copy(update=given)})
    asyncio.run(run_serve(settings, store))


def mcp(store: StoreOption = None) -> None:
    """Serve memory to a model over MCP, on standard input and output: search, explain, history, correct, and answer where a model is set.

    What it may do is what the key of `GUARDIAN_SERVE__MCP_KEY` may; without one it reads. No argument of the model's changes that.
    """
    asyncio.run(run_mcp(load_settings(), store))
