"""The worker: opens what it needs, runs its data planes under the shell, and ends with one exit code.

Start: pages ─▶ producer ─▶ topics are there ─▶ store and model ─▶ data planes. What is away is waited for, visibly; what can never
work ends the worker with exit code 2 before anything is consumed. Stop: data planes ─▶ producer ─▶ store ─▶ pages, in one deadline.
`ending` tells the exit codes.
"""

from __future__ import annotations

import asyncio
import functools
import random
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, TypeVar

import structlog

from guardian.contracts.letter import DeadLetter
from guardian.core.needs import Needs
from guardian.core.point import PointKind
from guardian.errors import ConfigError, DependencyError, InvariantError
from guardian.pipeline import Pipeline
from guardian.stream.broker.kafka import Producer, fetch_topics
from guardian.stream.dead_letter import DeadLetterSender, iter_records
from guardian.stream.ending import Ending
from guardian.stream.guard import Guard
from guardian.stream.health import Health
from guardian.stream.ingress import Ingress, check_ingress, choose_ingress_topics
from guardian.stream.letter_index import LetterIndex
from guardian.stream.plane.batch import Role, Work
from guardian.stream.plane.loop import Plane
from guardian.stream.publisher import KafkaPublisher
from guardian.stream.setup import WorkerSetup
from guardian.stream.shell import PageServer, Shell, build_app, build_pages
from guardian.stream.side import Agent, SideSetup, SideWork
from guardian.stream.watching import Owned, Watching, WorkGauge
from guardian.telemetry.metrics import Metrics

log = structlog.stdlib.get_logger(__name__)

Answer = TypeVar("Answer")

# Seconds between looks at store, broker and topics.
_PROBE_S = 10.0
# Seconds between looks at the dead letters that others wrote; each costs three short requests.
_LETTERS_S = 30.0
# Any id: asking for a point that is not there proves that the store answers.
_PROBE_ID = "00000000-0000-5000-8000-000000000000"


class Worker:
    """One worker of a process; `run` is called once.

    Attributes:
        ending: Ask it to stop the worker.
        health: What the pages show.
        metrics: What `/metrics` shows.
        server: Knows the port of the pages.
        is_clean: The stop ended within its deadline.
    """

    def __init__(self, setup: WorkerSetup) -> None:
        self.metrics = Metrics()
        self.health = Health(self.metrics)
        self.ending = Ending(setup.limits.stop_deadline_s)
        self.server = PageServer(bind=setup.web.bind, port=setup.web.port, pages=build_pages(self.health, self.metrics))
        self.is_clean = True
        self._setup = setup
        self._producer = Producer(setup.options)
        self._pipeline: Pipeline | None = None
        self._planes: list[Plane] = []
        self._agents: list[Agent] = []
        self._watching: Watching | None = None
        topic = setup.kafka.topic_prefix + DeadLetter.published_to
        self._letters = LetterIndex(
            read_on=functools.partial(iter_records, setup.options, topic),
            producer=self._producer,
            topic=topic,
            metrics=self.metrics,
        )

    async def run(self) -> int:
        """Run until asked to stop or until something fails; gives the exit code."""
        app = self._build_app()
        try:
            check_ingress(self._setup.kafka.ingress_topics, self._setup.kafka.ingress_pattern, own=self._setup.own_topics)
            await app.start()
            log.info("worker.started", roles=sorted(self._setup.roles), port=self.server.port)
            await self._start(app)
            await app.wait(self.ending.wait())  # raises what crashed the shell
        except StoppedError:
            log.info("worker.not_started")
        except Exception as exc:  # noqa: BLE001 # the outer edge: every fault becomes an exit code
            self.ending.fail(exc)
        finally:
            self.ending.request()
            await self._stop(app)
        log.info("worker.stopped", exit_code=self.ending.exit_code, is_clean=self.is_clean)
        return self.ending.exit_code

    def _build_app(self) -> Shell:
        setup = self._setup
        app = build_app(setup.kafka.group, bootstrap=setup.options.bootstrap, server=self.server)
        app.timer(min(_PROBE_S, setup.options.metadata_max_age_s))(self._probe)
        app.timer(min(_PROBE_S, setup.limits.watchdog_s / 4))(self._watch)
        app.timer(min(_LETTERS_S, setup.options.metadata_max_age_s))(self._look_after_letters)
        return app

    # Start

    async def _start(self, app: Shell) -> None:
        setup = self._setup
        await self._wait_for(self._producer.start)
        await self._wait_for(self._check_topics)
        dead_letters = DeadLetterSender(
            self._producer,
            topic=setup.kafka.topic_prefix + DeadLetter.published_to,
            max_bytes=setup.options.max_message_bytes,
        )
        work: list[Work] = []
        if "guard" in setup.roles or setup.sides:
            publisher = KafkaPublisher(self._producer, self.metrics, prefix=setup.kafka.topic_prefix)
            self._pipeline = await self._wait_for(lambda: setup.open_pipeline(publisher))
        if "guard" in setup.roles:
            work.append(self._build_guard(self._pipeline, dead_letters))
        self.health.is_store_open = True
        if "ingress" in setup.roles and (setup.kafka.ingress_topics or setup.kafka.ingress_pattern):
            work.append(self._build_ingress(dead_letters))
        work += [await self._open_side(side, self._pipeline, dead_letters) for side in setup.sides]
        if not work:
            raise ConfigError(
                "the worker has nothing to read.",
                setting="GUARDIAN_KAFKA__INGRESS_TOPICS",
                mend="name ingress topics or a pattern, or give the worker the role guard.",
            )
        for one in work:
            plane = self._build_plane(one)
            self._planes.append(plane)
            await app.add_runtime_dependency(plane)
            if one.role is Role.CANONICAL:
                self._start_watching(plane)

    def _build_guard(self, pipeline: Pipeline | None, dead_letters: DeadLetterSender) -> Guard:
        assert pipeline is not None
        return Guard(
            pipeline=pipeline,
            policy=self._setup.build_policy(pipeline.store.identity.vector_size),
            producer=self._producer,
            dead_letters=dead_letters,
            letters=self._letters,
            metrics=self.metrics,
        )

    def _start_watching(self, plane: Plane) -> None:
        setup, pipeline = self._setup, self._pipeline
        if setup.watch is None or pipeline is None or pipeline.publisher is None:
            return

        def find_owned() -> Owned | None:
            found = plane.find_owned(setup.events_topic)
            return None if found is None else Owned(round=found[0], numbers=found[1], all_numbers=found[2])

        def is_up(dependency: str) -> bool:
            return self.metrics.registry.get_sample_value("guardian_dependency_up", {"dependency": dependency}) == 1

        gauge = WorkGauge(
            measure_lag=lambda: plane.measure_group_lag(setup.events_topic),
            count_letters=lambda: self._letters.count,
            is_up=is_up,
        )
        self._watching = Watching(
            setup.watch,
            store=pipeline.store,
            publisher=pipeline.publisher,
            find_owned=find_owned,
            gauge=gauge,
            metrics=self.metrics,
        )
        self._watching.start()

    def _build_ingress(self, dead_letters: DeadLetterSender) -> Ingress:
        return Ingress(
            events_topic=self._setup.events_topic,
            policy=self._setup.build_policy(0),
            producer=self._producer,
            dead_letters=dead_letters,
            metrics=self.metrics,
            translator=self._setup.translator,
            schemas=self._setup.schemas,
        )

    async def _open_side(self, side: SideSetup, pipeline: Pipeline | None, dead_letters: DeadLetterSender) -> SideWork:
        assert pipeline is not None
        agent = await self._wait_for(lambda: side.open_agent(pipeline.store, self.metrics))
        self._agents.append(agent)
        return SideWork(side, agent, producer=self._producer, dead_letters=dead_letters, metrics=self.metrics)

    def _build_plane(self, work: Work) -> Plane:
        setup, limits = self._setup, self._setup.limits
        kafka, own = setup.kafka, setup.own_topics
        match work:
            case SideWork():
                name, wanted = work.role.value, {kafka.topic_prefix + work.setup.request.published_to}
                limits = limits.model_copy(update={"batch_events": work.setup.batch_requests})
            case _ if work.role is Role.CANONICAL:
                name, wanted = "guard", {setup.events_topic}
            case _:
                name, wanted = "ingress", set()
        return Plane(
            work=work,
            group=f"{kafka.group}.{name}",
            choose_topics=(lambda present: wanted & set(present))
            if wanted
            else (
                lambda present: choose_ingress_topics(present, names=kafka.ingress_topics, pattern=kafka.ingress_pattern, own=own)
            ),
            options=setup.options,
            limits=limits,
            ending=self.ending,
            health=self.health,
            metrics=self.metrics,
        )

    async def _check_topics(self) -> None:
        missing = sorted(self._setup.needed_topics - (await fetch_topics(self._setup.options)).keys())
        if missing:
            raise ConfigError(
                f"the broker at {self._setup.options.bootstrap} does not have {', '.join(missing)}.",
                setting="GUARDIAN_KAFKA__EVENTS_TOPIC",
                mend="create them with `guardian topics apply`.",
            )

    async def _wait_for(self, step: Callable[[], Awaitable[Answer]]) -> Answer:
        """Take a step of the start, again and again while something is away.

        Raises:
            StoppedError: The worker was asked to stop meanwhile.
        """
        pause_s = 0.5
        while not self.ending.is_requested:
            try:
                answer = await step()
            except DependencyError as exc:
                self.health.note(exc.dependency, is_up=False)
                self.health.starting_error = str(exc)
                log.warning("worker.waits", dependency=exc.dependency, error=str(exc))
                await self.ending.wait(pause_s * random.uniform(0.5, 1.0))  # noqa: S311 # no secret
                pause_s = min(2 * pause_s, self._setup.limits.retry_max_s)
            else:
                for dependency in ("broker", "store", "model"):
                    self.health.note(dependency, is_up=True)
                self.health.starting_error = None
                return answer
        raise StoppedError

    # Timers

    async def _probe(self) -> None:
        """Look at broker, topics and store; what is away is noted, the data planes find out what it means for them."""
        for plane in self._planes:
            await self._try(plane.refresh_topics)
        if self._pipeline is not None and not any(
            plane.condition.waits_for for plane in self._planes if not plane.condition.role.is_side
        ):
            await self._try(self._probe_store)

    async def _look_after_letters(self) -> None:
        """Look after the letters of erased memories that other workers may have written since."""
        pipeline = self._pipeline
        if pipeline is not None and not self.ending.is_requested:
            await self._try(lambda: self._letters.look_after(pipeline.store))

    async def _probe_store(self) -> None:
        assert self._pipeline is not None
        store = self._pipeline.store
        async with asyncio.timeout(self._setup.options.request_timeout_s):
            await store.fetch(Needs(ids={_PROBE_ID}))
            if store.identity.vector_size:
                pending = await store.count(kinds={PointKind.RECORD}, where={"pending": "dense"})
                self.metrics.pending_dense.set(pending)
        self.health.note("store", is_up=True)

    async def _try(self, step: Callable[[], Awaitable[None]]) -> None:
        try:
            await step()
        except DependencyError as exc:
            self.health.note(exc.dependency, is_up=False)
        except TimeoutError:
            self.health.note("store", is_up=False)
        except Exception as exc:  # noqa: BLE001 # a timer that dies takes Faust's app with it, without an exit code
            if not self.ending.is_requested:  # the store may be closed under a probe
                self.ending.fail(exc)

    async def _watch(self) -> None:
        """End a worker that has records to work on, waits for nothing, and finishes no batch: a restart is what helps."""
        for plane in self._planes:
            longest_s = self._setup.measure_patience_s(plane.condition.role)
            if not self.ending.is_requested and not await plane.check_progress(longest_s):
                role, lag = plane.condition.role.value, plane.condition.lag
                self.ending.fail(
                    InvariantError(f"{role}: no batch finished for {longest_s:g} s, {lag} records wait, nothing is away")
                )

    # Stop

    async def _stop(self, app: Shell) -> None:
        pipeline = self._pipeline
        steps: Sequence[Callable[[], Awaitable[Any]]] = [
            *([] if self._watching is None else [self._watching.stop]),
            *(plane.stop for plane in self._planes),
            *(agent.close for agent in self._agents),
            self._letters.finish,
            self._producer.stop,
            *([] if pipeline is None else [pipeline.store.close]),
            *([] if pipeline is None or pipeline.embedder is None else [pipeline.embedder.close]),
            *([] if self._setup.schemas is None else [self._setup.schemas.close]),
            app.stop,
        ]
        for step in steps:
            try:
                async with asyncio.timeout(self.ending.measure_left_s()):
                    await step()
            except Exception as exc:  # noqa: BLE001 # the other steps are due all the same
                self.is_clean = False
                log.warning("stop.step_failed", step=getattr(step, "__qualname__", repr(step)), error=repr(exc))


class StoppedError(Exception):
    """The worker was asked to stop before it had started."""
