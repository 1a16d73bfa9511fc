"""Wiring: the only place where settings become objects and adapters are chosen. No logic."""

from guardian.wiring.answer import build_answer_chat, build_answerer, build_stage_options
from guardian.wiring.audit import build_sandbox, open_auditor, open_channel
from guardian.wiring.broker import build_kafka_options, build_kafka_security, build_publisher, forward_events, open_producer
from guardian.wiring.chat import build_budget, build_chat
from guardian.wiring.drift import build_watch_policy, build_watch_setup
from guardian.wiring.induce import build_author, build_card_asks, build_card_chat, build_card_side, build_inducer
from guardian.wiring.policy import build_decode_policy, build_policy_of
from guardian.wiring.read import build_calibrator, build_read_policy
from guardian.wiring.serve import build_access, build_keyring, choose_mcp_key, open_access, run_mcp, run_serve
from guardian.wiring.source import build_map, build_rows_source, build_schemas, build_translator
from guardian.wiring.state import (
    build_embedder,
    build_identity,
    build_store,
    locate_state,
    open_aim,
    open_generations,
    place_store,
)
from guardian.wiring.worker import build_pipeline, build_worker_setup, open_pipeline, run_worker

__all__ = [
    "build_access",
    "build_answer_chat",
    "build_answerer",
    "build_author",
    "build_budget",
    "build_calibrator",
    "build_card_asks",
    "build_card_chat",
    "build_card_side",
    "build_chat",
    "build_decode_policy",
    "build_embedder",
    "build_identity",
    "build_inducer",
    "build_kafka_options",
    "build_kafka_security",
    "build_keyring",
    "build_map",
    "build_pipeline",
    "build_policy_of",
    "build_publisher",
    "build_read_policy",
    "build_rows_source",
    "build_sandbox",
    "build_schemas",
    "build_stage_options",
    "build_store",
    "build_translator",
    "build_watch_policy",
    "build_watch_setup",
    "build_worker_setup",
    "choose_mcp_key",
    "forward_events",
    "locate_state",
    "open_access",
    "open_aim",
    "open_auditor",
    "open_channel",
    "open_generations",
    "open_pipeline",
    "open_producer",
    "place_store",
    "run_mcp",
    "run_serve",
    "run_worker",
]
