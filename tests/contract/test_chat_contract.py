"""What a chat model behind a network promises, whatever its endpoint does: against a server on loopback with every fault."""

from __future__ import annotations

import asyncio
import importlib.util
import socket
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio
from pydantic import SecretStr

from guardian.chat.openai_endpoint import OpenAIChat, build_openai_chat
from guardian.chat.port import ChatMessage, ChatRequest, LaterError
from guardian.errors import ConfigError, DependencyError, InvariantError, RecordError
from tests import chat_server
from tests.chat_server import ChatServer, refuse, say, send, serve_chat

KEY = "sk-secret"
WORDS = ChatRequest(messages=(ChatMessage(role="system", content="Be brief."), ChatMessage(role="user", content="Is it so?")))
SHAPED = ChatRequest(
    messages=WORDS.messages,
    schema={"type": "object", "properties": {"so": {"type": "boolean"}}, "required": ["so"], "additionalProperties": False},
    schema_name="so",
    seed=7,
)

pytestmark = pytest.mark.skipif(importlib.util.find_spec("openai") is None, reason="the extra `openai` is not installed")


@pytest_asyncio.fixture
async def server() -> AsyncIterator[ChatServer]:
    """Give a running endpoint."""
    async with serve_chat(key=KEY) as served:
        yield served


def connect(server: ChatServer, **settings: Any) -> OpenAIChat:
    """Make a client with settings that suit tests."""
    defaults = {"model": chat_server.MODEL, "api_key": SecretStr(KEY), "max_retries": 1, "timeout_s": 20.0, "deadline_s": 20.0}
    return build_openai_chat(base_url=server.base_url, section="GUARDIAN_INDUCE", **(defaults | settings))


@pytest_asyncio.fixture
async def chat(server: ChatServer) -> AsyncIterator[OpenAIChat]:
    """Give a client of the endpoint."""
    made = connect(server)
    yield made
    await made.close()


class TestAsking:
    """A question and its answer."""

    async def test_an_answer_comes_with_its_tokens(self, server: ChatServer, chat: OpenAIChat) -> None:
        """Text, name and counts are the endpoint's; parameters are the request's."""
        reply = await chat.ask(WORDS)
        assert (reply.text, reply.model, reply.prompt_tokens, reply.completion_tokens) == ("yes", "stub", 4, 0)
        [question] = server.questions
        assert question.body["messages"] == [{"role": m.role, "content": m.content} for m in WORDS.messages]
        assert (question.body["temperature"], question.body["max_tokens"]) == (0.0, 1024)
        assert "response_format" not in question.body

    async def test_a_schema_goes_out_as_one(self, server: ChatServer, chat: OpenAIChat) -> None:
        """Where the endpoint has structured output, nothing is added to the prompt."""
        server.answer = lambda _: {"so": True}
        assert (await chat.ask(SHAPED)).text == '{"so": true}'
        [question] = server.questions
        assert question.body["response_format"]["json_schema"] == {"name": "so", "schema": SHAPED.schema, "strict": True}
        assert question.body["seed"] == 7
        assert question.system == "Be brief."

    async def test_a_cut_answer_says_so(self, server: ChatServer, chat: OpenAIChat) -> None:
        """The end at `max_tokens` is no end of the answer."""
        server.faults.append(chat_server.cut('{"so": tr'))
        assert (await chat.ask(WORDS)).is_cut

    async def test_nothing_of_the_clients_own_environment_goes_out(
        self, server: ChatServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Settings come by argument only."""
        monkeypatch.setenv("OPENAI_ORG_ID", "org-other")
        monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-other")
        monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
        monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: Bearer sk-other")
        chat = connect(server)
        await chat.ask(WORDS)
        await chat.close()
        names = {name.lower() for name in server.questions[0].headers}
        assert not names & {"openai-organization", "openai-project"}

    async def test_after_closing_nothing_is_asked(self, server: ChatServer, chat: OpenAIChat) -> None:
        """Asking a closed client is a fault of the caller."""
        await chat.close()
        await chat.close()
        with pytest.raises(InvariantError):
            await chat.ask(WORDS)
        assert not server.questions


class TestForms:
    """Endpoints that can do less."""

    @pytest.mark.parametrize(("takes", "requests"), [({"json_object"}, 2), (set(), 3)])
    async def test_a_lesser_form_is_found_once_and_remembered(
        self, server: ChatServer, chat: OpenAIChat, takes: set[str], requests: int
    ) -> None:
        """The schema stands in the system's message then; the second question goes out right at once."""
        server.takes = frozenset(takes)
        await chat.ask(SHAPED)
        assert len(server.questions) == requests
        assert server.questions[-1].system.startswith("Be brief.")
        assert '"additionalProperties": false' in server.questions[-1].system
        await chat.ask(SHAPED)
        assert len(server.questions) == requests + 1

    async def test_a_request_refused_in_every_form_is_its_own_fault(self, server: ChatServer, chat: OpenAIChat) -> None:
        """It teaches nothing about the endpoint, and its message shows nothing of what was asked."""
        server.faults.extend([refuse(400)] * 3)
        with pytest.raises(RecordError) as caught:
            await chat.ask(SHAPED)
        assert caught.value.reason == "request_refused"
        assert "Is it so" not in str(caught.value)
        await chat.ask(SHAPED)
        assert server.questions[-1].body["response_format"]["type"] == "json_schema"

    async def test_a_form_that_worked_is_not_given_up(self, server: ChatServer, chat: OpenAIChat) -> None:
        """A later refusal costs one request, not three."""
        await chat.ask(SHAPED)
        server.faults.append(refuse(400))
        with pytest.raises(RecordError):
            await chat.ask(SHAPED)
        assert len(server.questions) == 2

    async def test_parameters_refused_by_name_are_left_out(self, server: ChatServer, chat: OpenAIChat) -> None:
        """Some models want another word for the longest answer, no temperature and no seed; learned once."""
        server.refuses = frozenset({"max_tokens", "temperature", "seed"})
        await chat.ask(SHAPED)
        assert len(server.questions) == 4
        await chat.ask(SHAPED)
        [*_, last] = server.questions
        assert len(server.questions) == 5
        assert last.body["max_completion_tokens"] == 1024
        assert not last.body.keys() & server.refuses


class TestFaults:
    """What becomes of an endpoint's faults."""

    @pytest.mark.parametrize(
        "fault",
        [
            refuse(429, retry_after="0.01"),
            refuse(500),
            refuse(503),
            chat_server.reset,
            chat_server.break_off,
            send('{"choices": [{"mess'),
            send("<html>"),
            send('{"choices": []}'),
        ],
        ids=["429", "500", "503", "reset", "broken-off", "cut-json", "html", "no-choice"],
    )
    async def test_a_passing_fault_is_not_seen(self, server: ChatServer, chat: OpenAIChat, fault: Any) -> None:
        """One more try is enough, and the caller never knows."""
        server.faults.append(fault)
        assert (await chat.ask(WORDS)).text == "yes"
        assert len(server.questions) == 2

    @pytest.mark.parametrize("fault", [refuse(408), refuse(500), refuse(502), chat_server.reset, chat_server.break_off])
    async def test_a_lasting_fault_is_a_dependency_away(self, server: ChatServer, chat: OpenAIChat, fault: Any) -> None:
        """Tries are bounded, and the same question succeeds later."""
        server.faults.extend([fault] * 2)
        with pytest.raises(DependencyError) as caught:
            await chat.ask(WORDS)
        assert caught.value.dependency == "model"
        assert not isinstance(caught.value, LaterError)
        assert len(server.questions) == 2
        assert (await chat.ask(WORDS)).text == "yes"

    async def test_a_limit_that_lasts_names_the_wait(self, server: ChatServer) -> None:
        """Who asks too often is told when to come back."""
        chat = connect(server, max_retries=0)
        server.faults.append(refuse(429, retry_after="17"))
        with pytest.raises(LaterError) as caught:
            await chat.ask(WORDS)
        assert caught.value.wait_s == 17
        await chat.close()

    async def test_a_wait_beyond_the_deadline_is_not_waited_for(self, server: ChatServer) -> None:
        """An endpoint that asks for a minute's pause does not hold the caller for it."""
        chat = connect(server, deadline_s=0.3)
        server.faults.append(refuse(429, retry_after="60"))
        with pytest.raises(DependencyError, match=r"0\.3 seconds"):
            await chat.ask(WORDS)
        await chat.close()

    async def test_silence_meets_the_timeout(self, server: ChatServer) -> None:
        """Every try has its limit."""
        chat = connect(server, timeout_s=0.2, max_retries=0)
        server.faults.append(chat_server.hang(server))
        with pytest.raises(DependencyError, match="cannot be reached"):
            await chat.ask(WORDS)
        await chat.close()

    async def test_a_body_that_drips_meets_the_deadline(self, server: ChatServer) -> None:
        """No silence is long enough for a read timeout, and still it ends."""
        chat = connect(server, deadline_s=0.3)
        server.faults.append(chat_server.drip(server))
        with pytest.raises(DependencyError, match=r"0\.3 seconds"):
            await chat.ask(WORDS)
        await chat.close()

    @pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
    async def test_no_memory_is_sent_to_an_address_that_nobody_set(
        self, server: ChatServer, chat: OpenAIChat, status: int
    ) -> None:
        """An endpoint that says it is elsewhere is away: what is asked holds memories."""
        async with serve_chat() as other:
            server.faults.append(chat_server.redirect(status, f"{other.base_url}/chat/completions"))
            with pytest.raises(DependencyError, match="BASE_URL"):
                await chat.ask(WORDS)
            assert not other.questions

    async def test_a_flood_is_not_read_to_its_end(self, server: ChatServer) -> None:
        """A body beyond the limit is dropped, once: it is not asked for again."""
        chat = connect(server, max_answer_bytes=200_000)
        server.faults.append(chat_server.flood(size_bytes=40_000_000))
        with pytest.raises(DependencyError, match="more than 200000 bytes"):
            await chat.ask(WORDS)
        assert len(server.questions) == 1
        await chat.close()

    @pytest.mark.parametrize(
        "body",
        ["[]", "null", '{"choices": null}', '{"choices": [null]}', '{"choices": [{"message": null}]}', "\x00", "[" * 5_000],
    )
    async def test_what_is_no_answer_never_becomes_one(self, server: ChatServer, chat: OpenAIChat, body: str) -> None:
        """Whatever the body, the fault is the endpoint's."""
        server.faults.extend([send(body)] * 2)
        with pytest.raises(DependencyError):
            await chat.ask(WORDS)

    async def test_an_answer_without_text_is_empty(self, server: ChatServer, chat: OpenAIChat) -> None:
        """A refusal of the model has no content; counts that are none read as none."""
        body = '{"choices": [{"message": {"content": null, "refusal": "no"}}], "usage": {"prompt_tokens": "x"}, "model": 3}'
        server.faults.append(send(body))
        reply = await chat.ask(WORDS)
        assert (reply.text, reply.prompt_tokens, reply.model) == ("", 0, "stub")

    async def test_no_endpoint_at_all_is_away(self) -> None:
        """A refused connection can be retried later; it is no wrong setting."""
        with socket.socket() as closed:
            closed.bind(("127.0.0.1", 0))
            url = f"http://127.0.0.1:{closed.getsockname()[1]}/v1"
            chat = build_openai_chat(model="stub", base_url=url, max_retries=0)
            with pytest.raises(DependencyError):
                await chat.ask(WORDS)
        await chat.close()

    async def test_questions_at_once_do_not_mix(self, server: ChatServer, chat: OpenAIChat) -> None:
        """Each gets the answer to its own."""
        server.answer = lambda question: question.user
        asked = [ChatRequest(messages=(ChatMessage(role="user", content=f"q{i}"),)) for i in range(8)]
        replies = await asyncio.gather(*(chat.ask(request) for request in asked))
        assert [reply.text for reply in replies] == [f"q{i}" for i in range(8)]


class TestSettings:
    """Wrong settings."""

    @pytest.mark.parametrize(
        ("settings", "setting"),
        [({"api_key": None}, "API_KEY"), ({"api_key": SecretStr("sk-wrong")}, "API_KEY"), ({"model": "other"}, "MODEL")],
    )
    async def test_a_wrong_setting_is_named(self, server: ChatServer, settings: dict[str, Any], setting: str) -> None:
        """Message and field name the setting of whoever asks; the key is in neither."""
        chat = connect(server, **settings)
        with pytest.raises(ConfigError, match=f"GUARDIAN_INDUCE__{setting}") as caught:
            await chat.ask(WORDS)
        assert caught.value.setting == f"GUARDIAN_INDUCE__{setting}"
        assert "sk-" not in str(caught.value)
        await chat.close()

    def test_an_address_without_scheme_is_named(self) -> None:
        """The message names the setting and shows a right one."""
        with pytest.raises(ConfigError, match="GUARDIAN_CHAT__BASE_URL"):
            build_openai_chat(model="stub", base_url="localhost:11434/v1")

    def test_a_missing_extra_names_the_line_to_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mend can be pasted into a shell."""
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[openai\]'"):
            build_openai_chat(model="stub")


async def test_the_double_says_what_it_is_told(server: ChatServer, chat: OpenAIChat) -> None:
    """A scripted text is an answer of the protocol."""
    server.faults.append(say("no"))
    assert (await chat.ask(WORDS)).text == "no"
