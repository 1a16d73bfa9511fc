"""What is seen of the service that agents read from."""

from __future__ import annotations

from deploy.grafana.board import Board, Panel, quantile, rate

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
                lines={rate("guardian_requests_total", "route", "status"): "{{route}} {{status}}"},
                unit="reqps",
            ),
            Panel(
                title="Time of a request (p95)",
                text="By route.",
                lines={quantile(0.95, "guardian_request_seconds", "route"): "{{route}}"},
                unit="s",
            ),
            Panel(
                title="Refused",
                text="By the code of the problem. Keys that are not known, and callers above their rate, are seen here first.",
                lines={rate("guardian_requests_refused_total", "code") + " > 0": "{{code}}"},
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
                lines={rate("guardian_contexts_total", "advice"): "{{advice}}"},
                unit="cps",
            ),
            Panel(
                title="Time of a context",
                text="From question to prompt.",
                lines={
                    quantile(0.5, "guardian_context_seconds"): "p50",
                    quantile(0.95, "guardian_context_seconds"): "p95",
                    quantile(0.99, "guardian_context_seconds"): "p99",
                },
                unit="s",
            ),
            Panel(
                title="Records found, by role and reason",
                text="What was found for contexts and what became of it. Much of one reason is a matter of writers or of tasks.",
                lines={rate("guardian_context_records_total", "role", "reason"): "{{role}}: {{reason}}"},
                unit="cps",
            ),
            Panel(
                title="Records shown, by role and status",
                text="Superseded ones only for questions about history.",
                lines={rate("guardian_context_records_rendered_total", "role", "status"): "{{role}}: {{status}}"},
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
                lines={quantile(0.95, "guardian_context_tokens"): "tokens"},
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
                lines={rate("guardian_task_guesses_total", "outcome"): "{{outcome}}"},
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
                lines={rate("guardian_answers_total", "standing"): "{{standing}}"},
                unit="cps",
            ),
            Panel(
                title="Time",
                text="Of an answer, and of its questions to the model, 95%.",
                lines={
                    quantile(0.95, "guardian_answer_seconds"): "answer",
                    quantile(0.95, "guardian_stage_seconds", "stage"): "{{stage}}",
                },
                unit="s",
            ),
            Panel(
                title="Questions to the model",
                text="By stage and what became of them. `later` is a budget that is used up, or an endpoint that limits.",
                lines={rate("guardian_stage_calls_total", "stage", "outcome") + " > 0": "{{stage}}: {{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="Tokens",
                text="By stage, of questions and answers.",
                lines={rate("guardian_stage_tokens_total", "stage", "direction"): "{{stage}}: {{direction}}"},
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
                lines={rate("guardian_answer_spans_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
            Panel(
                title="What was wrong with them",
                text="Faults of statements and of their cites.",
                lines={rate("guardian_answer_faults_total", "fault") + " > 0": "{{fault}}"},
                unit="cps",
            ),
            Panel(
                title="Evidence of callers",
                text="Texts beside memory; what is cut or left out did not fit into GUARDIAN_ANSWER__EVIDENCE_TOKENS.",
                lines={rate("guardian_answer_evidence_total", "outcome"): "{{outcome}}"},
                unit="cps",
            ),
        ),
    },
)
