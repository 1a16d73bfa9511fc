"""`guardian worker`: guards live topics until it is told to stop."""

from __future__ import annotations

from guardian.cli.opening import StoreOption
from guardian.settings import load_settings
from guardian.wiring import place_store, run_worker


def worker(store: StoreOption = None) -> int:
    """Run a worker: ingress from the agents' topics, the guard on the canonical topic, health and metrics on one port.

    Ends with 0 on SIGTERM, 2 for wrong settings, 70 when it meets a bug of its own: run it under something that starts it again.
    """
    settings = load_settings()
    if store is not None:
        settings = settings.model_copy(update={"store": place_store(settings.store, store)})
    return run_worker(settings)
