"""The dashboards, each a table."""

from __future__ import annotations

from deploy.grafana.boards.drift import DRIFT
from deploy.grafana.boards.serve import SERVE
from deploy.grafana.boards.worker import WORKER

BOARDS = (DRIFT, WORKER, SERVE)
