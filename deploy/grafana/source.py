"""What the dashboards show, as tables: the one source of the generated JSON.

`$where` stands for the matchers of the chosen job and namespace; figures of drift are those that the rules record.
"""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """A panel.

    Attributes:
        text: What it tells and when to worry, for who sees it for the first time.
        lines: PromQL -> legend.
        unit: Grafana's name of a unit; `short` is a plain number.
        kind: A curve over time, or the latest number.
        limits: Where its colour turns to yellow and to red; the second may be the smaller, then less is worse.
        has_band: Its lines are named value, low and high, and the space between low and high is shaded.
    """

    title: str
    text: str
    lines: dict[str, str]
    unit: str = "short"
    kind: str = "curve"
    limits: tuple[float, float] | None = None
    has_band: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Board:
    """A dashboard.

    Attributes:
        rows: Title of a row -> its panels.
        since: How far back it looks at first.
        labelled: A metric that every deployment of it has from its first moment: its labels are the choices.
    """

    uid: str
    title: str
    text: str
    since: str
    labelled: str = "guardian_dependency_up"
    rows: dict[str, tuple[Panel, ...]] = field(default_factory=dict)


def _band(figure: str) -> dict[str, str]:
    return {f'guardian:drift_{figure}{{$where, scope="$scope", bound="{bound}"}}': bound for bound in ("value", "low", "high")}


def _now(figure: str, bound: str = "value") -> str:
    return f'guardian:drift_{figure}{{$where, scope="$scope", bound="{bound}"}}'


def _rate(metric: str, *labels: str) -> str:
    return f"sum by ({', '.join(labels)}) (rate({metric}{{$where}}[$__rate_interval]))"


def _quantile(quantile: float, metric: str, *labels: str) -> str:
    by = ", ".join(("le", *labels))
    return f"histogram_quantile({quantile}, sum by ({by}) (rate({metric}_bucket{{$where}}[$__rate_interval])))"


DRIFT = Board(
    uid="guardian-drift",
    title="Guardian: where the bank is heading",
    text="Corrupted share against its attractor, the loop behind it, echo, evidence and alerts.",
    since="now-30d",
    rows={
        "Now": (
            Panel(
                title="Corrupted share p",
                text="Share of wrong ones among the trusted records whose truth is known.",
                lines={_now("corrupted_share"): "p"},
                unit="percentunit",
                kind="number",
                limits=(0.3, 0.5),
            ),
            Panel(
                title="Attractor p*",
                text="Where the loop takes the corrupted share if nothing changes.",
                lines={_now("attractor"): "p*"},
                unit="percentunit",
                kind="number",
            ),
            Panel(
                title="Way covered from p0 to p*",
                text="Two fifths page, where feedback is proven. Without feedback p0 and p* are one and this number means nothing.",
                lines={
                    f"({_now('corrupted_share')} - {_now('one_shot')}) / ({_now('attractor')} - {_now('one_shot')})": "covered"
                },
                unit="percentunit",
                kind="number",
                limits=(0.25, 0.4),
            ),
            Panel(
                title="Margin to collapse",
                text="Distance of kappa from the collapse threshold. Where 0.1 cannot be ruled out it pages, if feedback is proven; below zero the bank is past it.",
                lines={_now("collapse_margin"): "margin"},
                kind="number",
                limits=(0.3, 0.1),
            ),
            Panel(
                title="Audited episodes",
                text="What the estimates rest on. Too few read unknown.",
                lines={'max(guardian_drift_episodes{$where, scope="$scope"})': "episodes"},
                kind="number",
            ),
            Panel(
                title="Age of the estimate",
                text="An hour is too old: then all figures here are.",
                lines={"time() - max(guardian_drift_last_run_timestamp_seconds{$where} > 0)": "age"},
                unit="s",
                kind="number",
                limits=(1_800, 3_600),
            ),
        ),
        "Where it is heading": (
            Panel(
                title="Corrupted share, with its interval",
                text="A rise is proven where the lower edge of now is above the upper edge of then.",
                lines=_band("corrupted_share"),
                unit="percentunit",
                has_band=True,
            ),
            Panel(
                title="Corrupted share, one shot, attractor",
                text="p starts at p0, what one pass leaves, and moves to p*, where the loop leads.",
                lines={_now("corrupted_share"): "p", _now("one_shot"): "p0", _now("attractor"): "p*"},
                unit="percentunit",
            ),
            Panel(
                title="Compounding p*/p0, with its interval",
                text="What the loop adds. Proven once the lower edge is above one.",
                lines=_band("compounding"),
                has_band=True,
            ),
            Panel(
                title="Margin to collapse, with its interval",
                text="Distance of kappa from the collapse threshold.",
                lines=_band("collapse_margin"),
                has_band=True,
            ),
        ),
        "The loop": (
            Panel(
                title="Kappa, with its interval",
                text="Rise of the error rate with the corrupted share of what was retrieved. Zero is no feedback.",
                lines=_band("kappa"),
                has_band=True,
            ),
            Panel(
                title="What the self-grade accepts",
                text="Leniency: wrong episodes it accepts. Sensitivity: right ones. Base error: the agent's own, with clean memories.",
                lines={_now("leniency"): "leniency", _now("sensitivity"): "sensitivity", _now("base_error"): "base error"},
                unit="percentunit",
            ),
        ),
        "Echo and evidence": (
            Panel(
                title="Reads that return what was corrected, with their interval",
                text="Share of what reads returned that a correction fells. One in twenty is too much.",
                lines=_band("superseded_top_k"),
                unit="percentunit",
                has_band=True,
            ),
            Panel(
                title="Refused claims",
                text="Verification claims that were recorded and not believed, beside what was written.",
                lines={
                    _rate("guardian_claims_refused_total", "job"): "refused",
                    _rate("guardian_records_written_total", "job"): "written",
                },
                unit="cps",
            ),
            Panel(
                title="Channels that fail",
                text="Evidence channels whose errors go with the agent's; they demote nothing.",
                lines={"max by (job, namespace) (guardian_channels_failing{$where})": "failing"},
            ),
        ),
        "Alerts and runs": (
            Panel(
                title="Alerts that stand, by the worker",
                text="Of all spaces; which ones is on the topic guardian.alerts.",
                lines={"sum by (alert, severity) (guardian:alert_standing{$where}) > 0": "{{alert}} ({{severity}})"},
            ),
            Panel(
                title="Alerts that fire, by the rules",
                text="Of Prometheus, with those passed on.",
                lines={
                    'count by (alertname, severity) (ALERTS{$where, alertname=~"Guardian.+", alertstate="firing"})': "{{alertname}} ({{severity}})"
                },
            ),
            Panel(
                title="Raised and resolved",
                text="Within a day.",
                lines={
                    "sum by (alert) (increase(guardian_alerts_raised_total{$where}[1d])) > 0": "raised {{alert}}",
                    "sum by (alert) (increase(guardian_alerts_resolved_total{$where}[1d])) > 0": "resolved {{alert}}",
                },
            ),
            Panel(
                title="Runs of the estimate",
                text="By what became of them, within a day; those of a worker without spaces are skipped.",
                lines={"sum by (outcome) (increase(guardian_drift_runs_total{$where}[1d]))": "{{outcome}}"},
            ),
            Panel(
                title="Time of a run",
                text="Half of the runs, and nineteen of twenty, are quicker.",
                lines={
                    "histogram_quantile(0.5, sum by (le) (rate(guardian_drift_run_seconds_bucket{$where}[1d])))": "p50",
                    "histogram_quantile(0.95, sum by (le) (rate(guardian_drift_run_seconds_bucket{$where}[1d])))": "p95",
                },
                unit="s",
            ),
        ),
    },
)

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
                lines={_rate("guardian_retries_total", "dependency"): "{{dependency}}"},
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
                lines={_rate("guardian_events_total", "disposition"): "{{disposition}}"},
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
                    _quantile(0.5, "guardian_batch_seconds", "topic_role"): "p50 {{topic_role}}",
                    _quantile(0.95, "guardian_batch_seconds", "topic_role"): "p95 {{topic_role}}",
                },
                unit="s",
            ),
            Panel(
                title="Time by phase, 95%",
                text="Fetch and apply are the store, embed is the model, publish the broker, decide Guardian's own.",
                lines={_quantile(0.95, "guardian_batch_phase_seconds", "phase"): "{{phase}}"},
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
                    _rate("guardian_events_forwarded_total", "job"): "forwarded",
                    _rate("guardian_rows_skipped_total", "reason"): "skipped: {{reason}}",
                    _rate("guardian_events_rerouted_total", "job"): "rerouted",
                },
                unit="cps",
            ),
        ),
        "What the store got": (
            Panel(
                title="Records",
                text="Written, felled by a correction, superseded already when they came.",
                lines={
                    _rate("guardian_records_written_total", "job"): "written",
                    _rate("guardian_records_felled_total", "job"): "felled",
                    _rate("guardian_records_born_superseded_total", "job"): "born superseded",
                    _rate("guardian_parents_inferred_total", "job"): "parent inferred",
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
                    _rate("guardian_claims_refused_total", "job"): "verification refused",
                    _rate("guardian_trust_lowered_total", "job"): "source lowered to agent",
                    _rate("guardian_times_naive_total", "job"): "time without offset",
                    _rate("guardian_headers_misnamed_total", "job"): "header ce- for ce_",
                },
                unit="cps",
            ),
        ),
        "Off the write path": (
            Panel(
                title="Evidence channels",
                text="Cases that channels were asked about, by what became of them. Away, timed out and failed ones cost a say, no write.",
                lines={_rate("guardian_audits_total", "channel", "outcome"): "{{channel}}: {{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Time of a channel on a case (p95)",
                text="Long ones delay other cases, never a write.",
                lines={_quantile(0.95, "guardian_audit_seconds", "channel"): "{{channel}}"},
                unit="s",
            ),
            Panel(
                title="Cards by a model",
                text="Records that a model was asked about, by what became of it.",
                lines={_rate("guardian_cards_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Agreement of the samples of a card (median)",
                text="Below the threshold that is set the card of the rules stays, narrowed.",
                lines={_quantile(0.5, "guardian_card_agreement"): "agreement"},
                unit="percentunit",
            ),
            Panel(
                title="Tokens for cards",
                text="Of questions and answers.",
                lines={_rate("guardian_card_tokens_total", "direction"): "{{direction}}"},
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

SERVE = Board(
    uid="guardian-serve",
    title="Guardian: the read side",
    text="Services, what they give and bar, the figures of admission, and what answers by a model cost.",
    since="now-6h",
    labelled="guardian_ready",
    rows={
        "Now": (
            Panel(
                title="Services that reach their store",
                text="None of them is a page.",
                lines={"sum(guardian_ready{$where})": "ready"},
                kind="number",
                limits=(2, 1),
            ),
            Panel(
                title="Contaminated questions of fact, last hour",
                text="In which a record stood as evidence that may not establish a fact. Zero by the rules.",
                lines={'sum(guardian:admission_hits:increase1h{$where, figure="objective_fact_contamination"})': "contaminated"},
                kind="number",
                limits=(0.5, 1),
            ),
            Panel(
                title="Superseded records shown, last hour",
                text="For questions that do not ask for history. Zero by the rules.",
                lines={'sum(guardian:admission_hits:increase1h{$where, figure="superseded_render"})': "shown"},
                kind="number",
                limits=(0.5, 1),
            ),
            Panel(
                title="Requests that fail",
                text="5xx of all but health and figures, within a quarter of an hour. One in twenty is a page.",
                lines={
                    "sum(guardian:requests_failed:increase15m{$where}) / (sum(guardian:requests:increase15m{$where}) > 0)": "failed"
                },
                unit="percentunit",
                kind="number",
                limits=(0.01, 0.05),
            ),
        ),
        "Requests": (
            Panel(
                title="Requests answered",
                text="By route and status; `none` is what no route was found for, or was refused before.",
                lines={_rate("guardian_requests_total", "route", "status"): "{{route}} {{status}}"},
                unit="reqps",
            ),
            Panel(
                title="Time of a request (p95)",
                text="By route.",
                lines={_quantile(0.95, "guardian_request_seconds", "route"): "{{route}}"},
                unit="s",
            ),
            Panel(
                title="Refused",
                text="By the code of the problem. Keys that are not known, and callers above their rate, are seen here first.",
                lines={_rate("guardian_requests_refused_total", "code") + " > 0": "{{code}}"},
                unit="reqps",
            ),
            Panel(
                title="In hand",
                text="Beyond GUARDIAN_SERVE__MAX_REQUESTS they are refused with 503.",
                lines={"guardian_requests_in_hand{$where}": "{{instance}}"},
            ),
            Panel(
                title="Reaches its store",
                text="1 while the store answers, 0 while it is away.",
                lines={"guardian_ready{$where}": "{{instance}}"},
            ),
        ),
        "What is given": (
            Panel(
                title="Contexts",
                text="By what was advised for want of a verified record.",
                lines={_rate("guardian_contexts_total", "advice"): "{{advice}}"},
                unit="cps",
            ),
            Panel(
                title="Time of a context",
                text="From question to prompt.",
                lines={
                    _quantile(0.5, "guardian_context_seconds"): "p50",
                    _quantile(0.95, "guardian_context_seconds"): "p95",
                    _quantile(0.99, "guardian_context_seconds"): "p99",
                },
                unit="s",
            ),
            Panel(
                title="Records found, by role and reason",
                text="What was found for contexts and what became of it. Much of one reason is a matter of writers or of tasks.",
                lines={_rate("guardian_context_records_total", "role", "reason"): "{{role}}: {{reason}}"},
                unit="cps",
            ),
            Panel(
                title="Records shown, by role and status",
                text="Superseded ones only for questions about history.",
                lines={_rate("guardian_context_records_rendered_total", "role", "status"): "{{role}}: {{status}}"},
                unit="cps",
            ),
            Panel(
                title="Searches of a context (mean)",
                text="One mostly. More where families, scopes and roles take much of what is found.",
                lines={
                    "sum(rate(guardian_context_searches_sum{$where}[$__rate_interval]))"
                    " / sum(rate(guardian_context_searches_count{$where}[$__rate_interval]))": "searches"
                },
            ),
            Panel(
                title="Tokens of a prompt (p95)",
                text="By the estimate; GUARDIAN_READ__TOKEN_BUDGET is the most.",
                lines={_quantile(0.95, "guardian_context_tokens"): "tokens"},
            ),
        ),
        "Admission": (
            Panel(
                title="Shares of admission",
                text="The figures of `guardian ledger report`, over an hour. Absent where there was no case.",
                lines={"guardian:admission_share:ratio1h{$where}": "{{figure}}"},
                unit="percentunit",
            ),
            Panel(
                title="Cases of the shares",
                text="What they are shares of, and what counts; few cases are no share.",
                lines={
                    "sum by (figure) (increase(guardian_admission_cases_total{$where}[1h]))": "{{figure}}: cases",
                    "sum by (figure) (increase(guardian_admission_hits_total{$where}[1h]))": "{{figure}}: counted",
                },
            ),
            Panel(
                title="Who says what is asked for",
                text="The caller all of it (not_asked), a classifier some (told), or nobody: then it is read on the careful side (silent).",
                lines={_rate("guardian_task_guesses_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Lines that the ledger did not take",
                text="Contexts and outcomes. The figures miss them, and the guard does not learn of the read.",
                lines={"sum by (line) (increase(guardian_ledger_failures_total{$where}[1h]))": "{{line}}"},
            ),
        ),
        "Answers by a model": (
            Panel(
                title="Answers",
                text="By what they are worth; a fallback is the bare prompt.",
                lines={_rate("guardian_answers_total", "standing"): "{{standing}}"},
                unit="cps",
            ),
            Panel(
                title="Time",
                text="Of an answer, and of its questions to the model, 95%.",
                lines={
                    _quantile(0.95, "guardian_answer_seconds"): "answer",
                    _quantile(0.95, "guardian_stage_seconds", "stage"): "{{stage}}",
                },
                unit="s",
            ),
            Panel(
                title="Questions to the model",
                text="By stage and what became of them. `later` is a budget that is used up, or an endpoint that limits.",
                lines={_rate("guardian_stage_calls_total", "stage", "outcome") + " > 0": "{{stage}}: {{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Tokens",
                text="By stage, of questions and answers.",
                lines={_rate("guardian_stage_tokens_total", "stage", "direction"): "{{stage}}: {{direction}}"},
                unit="cps",
            ),
            Panel(
                title="Money",
                text="Within a day, in the unit of the prices that are set.",
                lines={"sum(increase(guardian_answer_cost_total{$where}[1d]))": "spent"},
            ),
            Panel(
                title="Statements, by what the check made of them",
                text="Many that are taken out are a model that does not keep to what it is shown.",
                lines={_rate("guardian_answer_spans_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="What was wrong with them",
                text="Faults of statements and of their cites.",
                lines={_rate("guardian_answer_faults_total", "fault") + " > 0": "{{fault}}"},
                unit="cps",
            ),
            Panel(
                title="Evidence of callers",
                text="Texts beside memory; what is cut or left out did not fit into GUARDIAN_ANSWER__EVIDENCE_TOKENS.",
                lines={_rate("guardian_answer_evidence_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
        ),
    },
)

BOARDS = (DRIFT, WORKER, SERVE)
