"""The HTTP service over a real socket with an embedded store: what callers get, and what they never get."""

from __future__ import annotations

import asyncio
import json
import logging
import re
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from guardian.errors import DependencyError
from guardian.read.prompt.section import parse_block
from guardian.serve.gate import Limits
from tests.integration.serve_rig import KEYS, LIMITS, SECRETS, Service, build_settings, code_of, problem_of, running

CONTEXT, SEARCH, MEMORIES, CORRECTIONS = (f"/v1/spaces/shop/{name}" for name in ("context", "search", "memories", "corrections"))
FACT = {"requires_objective_fact": True}
ROOT = Path(__file__).parents[2]


@pytest.fixture
async def service(fast_path: Path) -> AsyncIterator[Service]:
    """Run a service with four keys."""
    async with running(build_settings(fast_path)) as service:
        yield service


async def test_a_correction_changes_what_every_reader_is_given(service: Service) -> None:
    """From the first write to the outcome: the whole way of a memory over HTTP."""
    await service.write("note", "Beans cost 16 dollars", by="tool", kind="fact", source={"kind": "tool"}, subject="beans")
    await service.write("recap", "We pay 16 dollars for beans", parents=["note"], source={"kind": "agent"})
    inline = {"memory_id": "invoice", "text": "Beans cost 20 dollars", "kind": "fact", "subject": "beans"}
    corrected = await service.call("POST", CORRECTIONS, {"targets": ["note"], "replacement": inline}, by="reviewer")
    assert corrected.status_code == 202
    assert (corrected.json()["state"], corrected.json()["trusted"]) == ("decided", True)

    given = (await service.call("POST", CONTEXT, {"question": "What do beans cost?", "task": FACT})).json()
    assert [record["memory_id"] for record in given["records"]["evidence_candidate"]] == ["invoice"]
    assert given["recorded"]
    (section,) = parse_block(given["messages"][1]["content"])
    assert [item.fields["text"] for item in section.items] == ["Beans cost 20 dollars"]
    past = (await service.call("POST", CONTEXT, {"question": "What did beans cost?", "task": {"is_history": True}})).json()
    told = {record["memory_id"]: record for each in past["records"].values() for record in each}
    assert (told["note"]["reason"], told["note"]["instead"]) == ("held_before", ["invoice"])

    known = (await service.call("GET", f"{MEMORIES}/recap")).json()
    assert (known["revisions"][0]["status"], known["replaced_by"]) == ("superseded", ["invoice"])
    assert [kin["memory_id"] for kin in known["ancestors"]] == ["note"]

    outcome = await service.call("POST", f"/v1/spaces/shop/contexts/{given['id']}/outcome", {"value": 1.0, "judged_by": "tests"})
    assert outcome.json() == {"context": given["id"], "known": True, "overridden": False}
    ledger = (service.settings.read.ledger_dir or Path()) / "guardian.ledger.jsonl"
    assert [json.loads(line)["type"] for line in ledger.read_text().splitlines()] == [
        "guardian.context.given",
        "guardian.context.given",
        "guardian.context.judged",
    ]


async def test_search_and_deletion(service: Service) -> None:
    """What an agent deleted is found by nobody, and kept for whoever asks for history."""
    await service.write("a", "Beans cost 16 dollars")
    assert [hit["memory_id"] for hit in (await service.call("POST", SEARCH, {"text": "beans"})).json()["hits"]] == ["a"]
    assert (await service.call("DELETE", f"{MEMORIES}/a")).status_code == 202
    assert (await service.call("POST", SEARCH, {"text": "beans"})).json() == {"hits": []}
    (hit,) = (await service.call("POST", SEARCH, {"text": "beans", "history": True})).json()["hits"]
    assert (hit["memory_id"], hit["status"]) == ("a", "superseded")


ROUTES = [
    ("POST", "context", {"question": "beans"}),
    ("POST", "search", {"text": "beans"}),
    ("GET", "memories/secret", None),
    ("POST", "memories", {"memory_id": "m", "text": "Beans"}),
    ("DELETE", "memories/secret", None),
    ("POST", "corrections", {"targets": ["secret"]}),
    ("POST", f"contexts/{'0' * 32}/outcome", {"value": 1.0, "judged_by": "tests"}),
]


async def test_the_key_of_one_space_gets_nothing_of_another(service: Service) -> None:
    """On no route; whether or not the memory is there the answer is the same, and no word of it is in it."""
    await service.write("secret", "The vault opens with 4711", by="reviewer")
    for method, path, body in ROUTES:
        answers = []
        for space in ("shop", "not-there"):
            response = await service.call(method, f"/v1/spaces/{space}/{path}", body, by="other")
            assert code_of(response, 403) == "not_your_space"
            answers.append(response.text)
            assert "4711" not in response.text
        assert answers[0] == answers[1]
    assert (await service.call("GET", f"{MEMORIES}/secret", by="reviewer")).json()["revisions"][0]["status"] == "active"


HEADERS = [
    None,
    "",
    "Bearer",
    "Bearer wrong",
    "Basic dXNlcjpwYXNz",
    SECRETS["agent"],
    f"Bearer {SECRETS['agent']}x",
    f"Token {SECRETS['agent']}",
]


async def test_nobody_gets_in_without_a_key(service: Service) -> None:
    """Before the body is read: a wrong key with a wrong body is told about the key alone."""
    for header in HEADERS:
        headers = {"Content-Type": "application/json"} | ({} if header is None else {"Authorization": header})
        response = await service.client.post(CONTEXT, content=b"{", headers=headers)
        assert code_of(response, 401) == "key_unknown", header
        assert response.headers["www-authenticate"].startswith("Bearer")


async def test_an_agents_key_neither_corrects_nor_verifies(service: Service) -> None:
    """Whatever the body says of its author."""
    await service.write("note", "Beans cost 16 dollars", by="tool", kind="fact", source={"kind": "tool"})
    human = {"kind": "human_review", "actor": "ann"}
    correction = {"targets": ["note"], "authority": human}
    assert code_of(await service.call("POST", CORRECTIONS, correction), 403) == "may_not"
    for fields, code in (
        ({"verified": True, "source": human}, "may_not_verify"),
        ({"supersedes": ["note"]}, "may_not_verify"),
        ({"source": human}, "claims_too_much"),
        ({"source": {"kind": "user"}}, "claims_too_much"),
    ):
        body = {"memory_id": "forged", "text": "Beans cost 1 dollar", **fields}
        assert code_of(await service.call("POST", MEMORIES, body), 403) == code
    assert code_of(await service.call("GET", f"{MEMORIES}/forged"), 404) == "no_such_memory"
    assert (await service.call("GET", f"{MEMORIES}/note")).json()["revisions"][0]["status"] == "active"


async def test_a_body_that_is_too_large_is_refused_however_it_comes(service: Service) -> None:
    """With its length told, and without."""
    body = json.dumps({"memory_id": "m", "text": "x" * LIMITS.max_body_bytes}).encode()
    headers = {"Authorization": f"Bearer {SECRETS['agent']}", "Content-Type": "application/json"}

    async def drip() -> AsyncIterator[bytes]:
        for start in range(0, len(body), 8192):
            yield body[start : start + 8192]

    for content in (body, drip()):
        try:
            response = await service.client.post(MEMORIES, content=content, headers=headers)
        except httpx.TransportError:
            continue  # it was refused while the rest was still being sent
        assert code_of(response, 413) == "too_large"
    assert (await service.client.get("/livez")).status_code == 200


BAD_BODIES = [
    (b"{", 400, "not_json"),
    (b"\xff\xfe", 400, "not_json"),
    (b"[" * 20_000, 400, "not_json"),
    (b"null", 422, "body_wrong"),
    (b"[]", 422, "body_wrong"),
    (b'{"memory_id": 7, "text": "Beans"}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "Beans", "verfied": true}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "\\ud800"}', 400, "not_json"),
    (b'{"memory_id": "m", "text": "Beans", "metadata": {"a": "\\ud800"}}', 400, "not_json"),
    (b'{"memory_id": "m", "text": " \\u200b "}', 422, "text_blank"),
    (b'{"memory_id": "m", "text": "Beans", "self_grade": NaN}', 400, "not_json"),
    (b'{"memory_id": "m", "text": "Beans", "self_grade": 1.5}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "Beans", "time": "yesterday"}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "Beans", "scope": {"user": "ann"}}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "Beans", "source": {"knd": "tool"}}', 422, "body_wrong"),
    (b'{"memory_id": "m", "text": "Beans", "metadata": {"n": 1180591620717411303424}}', 422, "not_json"),
]


async def test_a_bad_body_is_told_its_fault_and_writes_nothing(service: Service) -> None:
    """Never a 500, never a quiet repair."""
    headers = {"Authorization": f"Bearer {SECRETS['agent']}", "Content-Type": "application/json; charset=utf-8"}
    for body, status, code in BAD_BODIES:
        assert code_of(await service.client.post(MEMORIES, content=body, headers=headers), status) == code, body[:80]
    assert code_of(await service.call("GET", f"{MEMORIES}/m"), 404) == "no_such_memory"


MISTYPED = [
    ("context", {"question": "beans", "task": {"requires_objective_fact": 1}}, "task.requires_objective_fact", "true or false"),
    ("context", {"question": "beans", "task": {"is_history": "false"}}, "task.is_history", "true or false"),
    ("context", {"question": "beans", "limit": "5"}, "limit", "a whole number"),
    ("search", {"text": "beans", "limit": True}, "limit", "a whole number"),
    ("search", {"text": "beans", "history": "no"}, "history", "true or false"),
    ("memories", {"memory_id": "m", "text": "Beans", "verified": "true"}, "verified", "true or false"),
    ("contexts/c/outcome", {"value": "1", "judged_by": "tests"}, "value", "a number"),
    ("contexts/c/outcome", {"value": True, "judged_by": "tests"}, "value", "a number"),
]


async def test_a_value_of_another_type_is_refused_by_name(service: Service) -> None:
    """What JSON has a type for is not guessed from another; the mend says what to send."""
    for route, body, path, sent in MISTYPED:
        problem = problem_of(await service.call("POST", f"/v1/spaces/shop/{route}", body), 422)
        assert (problem["path"], problem["faults"][0]["path"]) == (path, path), body
        assert path in problem["detail"]
        assert sent in problem["mend"]
    whole = {"memory_id": "m", "text": "Beans cost 16 dollars", "self_grade": 1, "time": "2026-03-14T09:00:00Z"}
    assert (await service.call("POST", MEMORIES, whole)).status_code == 202
    assert (await service.call("POST", SEARCH, {"text": "beans", "limit": 5.0})).status_code == 200


async def test_a_misspelt_part_of_a_correction_is_told(service: Service) -> None:
    """At whatever depth; a replacement whose source was misspelt would be one of no source."""
    await service.write("m", "Beans cost 16 dollars")
    replacement = {"memory_id": "n", "text": "Beans cost 20 dollars", "source": {"kind": "tool", "reff": "r"}}
    for parts in ({"replacement": replacement}, {"authority": {"knd": "user"}}):
        response = await service.call("POST", CORRECTIONS, {"targets": ["m"], **parts}, by="reviewer")
        (fault,) = problem_of(response, 422)["faults"]
        assert re.search(r"replacement\.source\.reff|authority\.knd", fault["message"])


async def test_no_path_leads_to_another(service: Service) -> None:
    """A redirect would take the key along, over plain HTTP behind a proxy; what a route takes is told."""
    response = await service.call("POST", f"{CONTEXT}/", {"question": "beans"})
    assert code_of(response, 404) == "no_such_route"
    response = await service.call("PUT", CONTEXT, {"question": "beans"})
    assert code_of(response, 405) == "method_wrong"
    assert response.headers["allow"] == "POST"


async def test_a_body_that_is_not_sent_as_json_is_refused(service: Service) -> None:
    """A form of a foreign page can send text/plain to this machine, and JSON only after asking."""
    headers = {"Authorization": f"Bearer {SECRETS['agent']}", "Content-Type": "text/plain"}
    response = await service.client.post(MEMORIES, content=b'{"memory_id": "m", "text": "Beans"}', headers=headers)
    assert code_of(response, 415) == "not_json"


IDS = [
    "../../etc/passwd",
    "..",
    "a/../b",
    "/",
    "//",
    "%2e%2e",
    "a?b#c",
    "Ä ö\u202e",
    "notes/2026/a.md",
    "memories/x",
    "'; drop",
    "\U0001f600",
]


async def test_an_id_is_a_name_and_never_a_path(service: Service) -> None:
    """Whatever stands in it, it leads to the memory of that very name in the space of that very name."""
    for name in IDS:
        await service.write(name, "Beans cost 16 dollars")
        encoded = "".join(f"%{byte:02X}" for byte in name.encode())
        known = (await service.call("GET", f"{MEMORIES}/{encoded}")).json()
        assert (known["space"], known["memory_id"]) == ("shop", name)
        for path in (encoded, f"shop%2F{encoded}"):
            assert code_of(await service.call("GET", f"/v1/spaces/{path}/memories/m"), 403) == "not_your_space"


async def test_a_space_with_a_slash_is_one_space(service: Service) -> None:
    """The slash of an id stays inside of it."""
    await service.write("memories/x", "Beans", space="team%2Fone")
    known = (await service.call("GET", "/v1/spaces/team%2Fone/memories/memories/x")).json()
    assert (known["space"], known["memory_id"]) == ("team/one", "memories/x")
    assert code_of(await service.call("GET", "/v1/spaces/team/one/memories/memories/x"), 404) == "no_such_route"


async def test_what_can_be_no_id_is_refused(service: Service) -> None:
    """NUL, half a character, no UTF-8, too long."""
    for segment in ("%00", "a%00b", "%ff", "%ED%A0%80", "x" * 1025):
        for path in (f"{MEMORIES}/{segment}", f"/v1/spaces/{segment}/memories/m"):
            assert code_of(await service.call("GET", path, by="reviewer"), 422) == "id_invalid"


async def test_hostile_text_stays_data(service: Service) -> None:
    """A memory that poses as heading, role and verdict changes nothing in the prompt that is handed out."""
    corpus = (ROOT / "tests" / "data" / "injection").glob("*.jsonl")
    lines = [json.loads(line) for path in sorted(corpus) for line in path.read_text("utf-8").splitlines()]
    hostile = [line["text"] for line in lines][::12]
    for index, text in enumerate(hostile):
        await service.write(f"h{index}", f"Beans. {text}", source={"kind": "agent"})
    given = (
        await service.call("POST", CONTEXT, {"question": "beans", "limit": 100, "task": {"requires_objective_fact": False}})
    ).json()
    system, user = given["messages"]
    assert (system["role"], user["role"]) == ("system", "user")
    sections = parse_block(user["content"])
    shown = [item.fields["text"] for section in sections for item in section.items]
    assert sorted(shown) == sorted(
        f"Beans. {text}"[: len(each)] for each, text in zip(shown, _match(shown, hostile), strict=True)
    )
    assert {section.name for section in sections} == {"background"}
    assert not any(text in system["content"] for text in hostile)


def _match(shown: list[str], hostile: list[str]) -> list[str]:
    """Give the text that each shown one begins."""
    return [next(text for text in hostile if f"Beans. {text}".startswith(each)) for each in shown]


async def test_a_key_that_asks_too_much_is_told_when_to_come_back(fast_path: Path) -> None:
    """The others go on."""
    keys = {**KEYS, "agent": KEYS["agent"].model_copy(update={"burst": 3, "rate_per_s": 0.01})}
    async with running(build_settings(fast_path, keys=keys)) as service:
        codes = [(await service.call("POST", SEARCH, {"text": "beans"})).status_code for _ in range(4)]
        assert codes == [200, 200, 200, 429]
        limited = await service.call("POST", SEARCH, {"text": "beans"})
        assert code_of(limited, 429) == "too_many_requests"
        assert 1 <= int(limited.headers["retry-after"]) <= 100
        assert (await service.call("POST", SEARCH, {"text": "beans"}, by="tool")).status_code == 200
        assert (await service.client.get("/livez")).status_code == 200


async def test_without_keys_this_machine_is_served_and_a_foreign_name_is_not(fast_path: Path) -> None:
    """A page whose name was made to point here does not get in; nobody corrects."""
    async with running(build_settings(fast_path, keys={})) as service:
        assert (await service.call("POST", MEMORIES, {"memory_id": "m", "text": "Beans"}, by=None)).status_code == 202
        assert code_of(await service.call("POST", CORRECTIONS, {"targets": ["m"]}, by=None), 403) == "may_not"
        assert code_of(await service.call("GET", f"{MEMORIES}/m", by="agent"), 401) == "key_unknown"
        assert (await service.client.get(f"{MEMORIES}/m", headers={"Host": "LOCALHOST:8090"})).status_code == 200
        response = await service.client.get(f"{MEMORIES}/m", headers={"Host": "evil.example:8090"})
        assert code_of(response, 421) == "not_this_host"


class _Slow:
    """An access that takes its time, or fails."""

    def __init__(self, access: Any, error: Exception | None) -> None:
        self._access, self._error = access, error

    def __getattr__(self, name: str) -> Any:
        return getattr(self._access, name)

    async def search(self, *arguments: Any) -> Any:
        """Wait for ever, or fail."""
        if self._error is not None:
            raise self._error
        await asyncio.Event().wait()


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (None, 504, "too_slow"),
        (DependencyError("the store at secret-host is away", dependency="store"), 503, "away"),
        (ValueError("a bug that quotes: The vault opens with 4711"), 500, "bug"),
    ],
)
async def test_what_goes_wrong_inside_costs_one_request_and_tells_nothing(
    fast_path: Path, caplog: pytest.LogCaptureFixture, error: Exception | None, status: int, code: str
) -> None:
    """The answer names the mend; neither answer nor log quotes what the error quoted."""
    caplog.set_level(logging.INFO)
    limits = Limits(timeout_s=0.5) if error is None else LIMITS
    async with running(build_settings(fast_path), limits=limits, wrap=lambda access: _Slow(access, error)) as service:
        response = await service.call("POST", SEARCH, {"text": "beans"})
        assert code_of(response, status) == code
        assert "4711" not in response.text + caplog.text
        assert "secret-host" not in response.text
        assert (await service.client.get("/readyz")).status_code == 200


async def test_a_key_where_none_is_set_is_told_to_be_left_out(tmp_path: Path) -> None:
    """Also the empty one that a shell makes of `Bearer $KEY`: it is refused, and the mend says why."""
    async with running(build_settings(tmp_path, keys={})) as service:
        response = await service.client.post(CONTEXT, json={"question": "x"}, headers={"Authorization": "Bearer nobody"})
        assert "leave Authorization out" in problem_of(response, 401)["mend"]
        assert (await service.client.post(CONTEXT, json={"question": "x"})).status_code == 200
