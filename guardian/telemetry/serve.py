"""The metrics of `guardian serve`; those of a worker are in `metrics`."""

from __future__ import annotations

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector, generate_latest

# Seconds: a context takes milliseconds, an explanation of a large family many.
_BUCKETS = (0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0)


class ServeMetrics:
    """All metrics of one service. Labels are routes and statuses: no space, no memory, no key.

    Attributes:
        registry: Where they are registered; what `/metrics` shows.
    """

    def __init__(self, registry: CollectorRegistry | None = None) -> None:
        self.registry = CollectorRegistry() if registry is None else registry
        ProcessCollector(registry=self.registry)
        self.requests = Counter(
            "guardian_requests", "Requests answered, by route and HTTP status.", ["route", "status"], registry=self.registry
        )
        self.seconds = Histogram(
            "guardian_request_seconds", "Time of a request, by route.", ["route"], buckets=_BUCKETS, registry=self.registry
        )
        self.in_hand = Gauge("guardian_requests_in_hand", "Requests that are being answered.", registry=self.registry)

    def note(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests.labels(route, str(status)).inc()
        self.seconds.labels(route).observe(seconds)

    def render(self) -> bytes:
        """Give all metrics in Prometheus' text format."""
        return generate_latest(self.registry)
