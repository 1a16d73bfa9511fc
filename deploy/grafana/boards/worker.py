"""What is seen of workers."""

from __future__ import annotations

from deploy.grafana.board import Board, Panel, quantile, rate

WORKER = Board(
    uid="guardian-worker",
    title="Guardian: the write path",
    text="Workers, what they depend on, what they read and decide, and what they refuse.",
    since="now-6h",
    rows={
        "Now": (
            Panel(
                title="Workers that answer",
                text="None of them is a page.",
                lines={'sum(up{job=~"$job", namespace=~"$namespace"})': "up"},
                kind="number",
                limits=(2, 1),
            ),
            Panel(
                title="Records behind",
                text="Behind the fetch high watermark, of workers that own partitions.",
                lines={"sum by (topic_role) (guardian:lag_records{$where})": "{{topic_role}}"},
                kind="number",
                limits=(1_000, 100_000),
            ),
            Panel(
                title="Dead letters, last hour",
                text="`guardian dead-letters list` says why.",
                lines={"sum(increase(guardian_dead_letters_total{$where}[1h]))": "refused"},
                kind="number",
                limits=(1, 40),
            ),
            Panel(
                title="Without dense vector",
                text="Found by BM25 alone until `guardian embed --fill`.",
                lines={"max(guardian_pending_dense_records{$where})": "records"},
                kind="number",
                limits=(1, 1_000_000),
            ),
        ),
        "Workers and what they depend on": (
            Panel(
                title="Dependencies",
                text="1 while all workers reach it, 0 while one does not.",
                lines={"min by (dependency) (guardian_dependency_up{$where})": "{{dependency}}"},
            ),
            Panel(
                title="Failed tries",
                text="Tries of a batch that failed because something was away. The same batch is tried again.",
                lines={rate("guardian_retries_total", "dependency"): "{{dependency}}"},
                unit="cps",
            ),
            Panel(
                title="Partitions",
                text="Each belongs to one worker.",
                lines={"guardian_partitions_assigned{$where}": "{{instance}} {{topic_role}}"},
            ),
            Panel(
                title="Starts within an hour",
                text="More than three are an alert; the exit code says why.",
                lines={"changes(process_start_time_seconds{$where}[1h])": "{{instance}}"},
            ),
            Panel(
                title="Memory",
                text="Resident. Bounded by one batch and the fetches of the partitions, whatever the lag.",
                lines={"process_resident_memory_bytes{$where}": "{{instance}}"},
                unit="bytes",
            ),
        ),
        "Flow": (
            Panel(
                title="Events decided",
                text="By what became of them. A redelivered one counts again.",
                lines={rate("guardian_events_total", "disposition"): "{{disposition}}"},
                unit="cps",
            ),
            Panel(
                title="Records behind",
                text="Grows while more comes in than is decided, or something is away.",
                lines={"guardian:lag_records{$where}": "{{topic_role}}"},
            ),
            Panel(
                title="Time of a batch",
                text="From decoding to commit.",
                lines={
                    quantile(0.5, "guardian_batch_seconds", "topic_role"): "p50 {{topic_role}}",
                    quantile(0.95, "guardian_batch_seconds", "topic_role"): "p95 {{topic_role}}",
                },
                unit="s",
            ),
            Panel(
                title="Time by phase, 95%",
                text="Fetch and apply are the store, embed is the model, publish the broker, decide Guardian's own.",
                lines={quantile(0.95, "guardian_batch_phase_seconds", "phase"): "{{phase}}"},
                unit="s",
            ),
            Panel(
                title="Age of the last batch",
                text="Old is only a fault where records wait.",
                lines={"max by (instance, topic_role) (guardian_last_batch_age_seconds{$where})": "{{instance}} {{topic_role}}"},
                unit="s",
            ),
            Panel(
                title="Ingress",
                text="Forwarded to the canonical topic; rows that deliberately become no event; events sent on to their space's partition.",
                lines={
                    rate("guardian_events_forwarded_total", "job"): "forwarded",
                    rate("guardian_rows_skipped_total", "reason"): "skipped: {{reason}}",
                    rate("guardian_events_rerouted_total", "job"): "rerouted",
                },
                unit="cps",
            ),
        ),
        "What the store got": (
            Panel(
                title="Records",
                text="Written, felled by a correction, superseded already when they came.",
                lines={
                    rate("guardian_records_written_total", "job"): "written",
                    rate("guardian_records_felled_total", "job"): "felled",
                    rate("guardian_records_born_superseded_total", "job"): "born superseded",
                    rate("guardian_parents_inferred_total", "job"): "parent inferred",
                },
                unit="cps",
            ),
            Panel(
                title="Stored without a vector they should have",
                text="Now waiting, and added since the worker's start.",
                lines={
                    "max by (job, namespace) (guardian_pending_dense_records{$where})": "waiting",
                    "sum by (job, namespace) (guardian_records_pending_dense_total{$where})": "added",
                },
            ),
            Panel(
                title="Claims and times",
                text="What senders said and Guardian did not take as it was.",
                lines={
                    rate("guardian_claims_refused_total", "job"): "verification refused",
                    rate("guardian_trust_lowered_total", "job"): "source lowered to agent",
                    rate("guardian_times_naive_total", "job"): "time without offset",
                    rate("guardian_headers_misnamed_total", "job"): "header ce- for ce_",
                },
                unit="cps",
            ),
        ),
        "Off the write path": (
            Panel(
                title="Evidence channels",
                text="Cases that channels were asked about, by what became of them. Away, timed out and failed ones cost a say, no write.",
                lines={rate("guardian_audits_total", "channel", "outcome"): "{{channel}}: {{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Time of a channel on a case (p95)",
                text="Long ones delay other cases, never a write.",
                lines={quantile(0.95, "guardian_audit_seconds", "channel"): "{{channel}}"},
                unit="s",
            ),
            Panel(
                title="Cards by a model",
                text="Records that a model was asked about, by what became of it.",
                lines={rate("guardian_cards_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Agreement of the samples of a card (median)",
                text="Below the threshold that is set the card of the rules stays, narrowed.",
                lines={quantile(0.5, "guardian_card_agreement"): "agreement"},
                unit="percentunit",
            ),
            Panel(
                title="Tokens for cards",
                text="Of questions and answers.",
                lines={rate("guardian_card_tokens_total", "direction"): "{{direction}}"},
                unit="cps",
            ),
            Panel(
                title="Money for cards",
                text="Within a day, in the unit of the prices that are set.",
                lines={"sum(increase(guardian_card_cost_total{$where}[1d]))": "spent"},
            ),
        ),
        "What was refused": (
            Panel(
                title="Dead letters by reason",
                text="Whole, with the reason, in guardian.dead-letters; the sender is to be mended.",
                lines={
                    "sum by (reason, topic_role) (increase(guardian_dead_letters_total{$where}[$__rate_interval])) > 0": "{{reason}} ({{topic_role}})"
                },
            ),
            Panel(
                title="Erased letters, outcomes too large",
                text="Letters that got a tombstone after an erasure; outcomes that their topic does not take (the state is in the store).",
                lines={
                    "sum(increase(guardian_dead_letters_erased_total{$where}[1h]))": "letters erased",
                    "sum(increase(guardian_outcomes_too_large_total{$where}[1h]))": "outcomes too large",
                },
            ),
        ),
    },
)
