"""The benchmark of rewordings: real texts that say one thing are told from those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pytest

from benchmarks.rewording import measure_rewording
from tests.unit.benchmark_rows import ROWS, figure, ignore


class TestRewording:
    """Rewordings, pairs and summaries of real texts."""

    async def test_a_rewording_is_told_from_another_question(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """What an agent says again is found, another's question is not; a summary has all it joins."""
        monkeypatch.setenv("GUARDIAN_REAL_DATA", str(tmp_path))
        sports = [("chess", "Bergen"), ("tennis", "Oaxaca"), ("rowing", "Kyoto"), ("judo", "Lagos")]
        plans = [
            {
                "case": f"When did {city} open its {sport} hall?",
                "plan": plan_of(f"Find the year in which the {sport} hall of {city} opened."),
            }
            for sport, city in sports
        ]
        things = [f"{city} {verb} {thing}" for city, verb, thing in zip(CITIES, VERBS, THINGS, strict=True)]
        write_lines(tmp_path / "memento" / "memory.jsonl", [*plans, {"case": "Why?", "plan": "no plan"}])
        write_lines(tmp_path / "mcp_memory_graph" / "v1.jsonl", [{"name": "notes", "observations": things}])
        rows = [
            ROWS[1] | {"task": "personalized_memory_use", "memory": {"policy": "use", "items": items([text])}} for text in things
        ]
        write_lines(tmp_path / "memsyco-bench" / "rows.jsonl", rows)
        (tmp_path / "truthfulqa").mkdir()
        (tmp_path / "truthfulqa" / "tqa_K650.csv").write_text("Best Answer\n" + "\n".join(things))
        report = await measure_rewording(pairs=100, sessions=3, advance=ignore)
        assert figure(report, "an agent's rewordings of questions: recalls") == 1
        assert figure(report, "the same, each with another's question: recalls") == 0
        assert figure(report, "pairs of notes of a project: recalls") == 0
        assert figure(report, "answers of TruthfulQA: 3 joined, any texts read: all found") == 1
        assert figure(report, "personal memories: not read, any texts read: given a parent") == 0


CITIES = ("Bergen", "Oaxaca", "Kyoto", "Lagos", "Turin", "Quito", "Hanoi", "Perth", "Dakar", "Lyon", "Osaka", "Porto")
VERBS = ("exports", "plants", "melts", "paints", "weaves", "brews", "prints", "carves", "ships", "bakes", "roasts", "bottles")
THINGS = ("herring", "agave", "copper", "murals", "kente", "lager", "maps", "masks", "grain", "bread", "coffee", "wine")


def plan_of(step: str) -> str:
    """Give a plan of one step, as a model writes it."""
    return orjson.dumps({"plan": [{"id": 1, "description": step}]}).decode()


def items(texts: Sequence[str]) -> list[dict[str, str]]:
    """Give the memory items of a row."""
    return [{"content": text, "type": "preference", "status": "active"} for text in texts]


def write_lines(path: Path, rows: Sequence[dict[str, Any]]) -> None:
    """Write rows as lines of JSON, with the folder."""
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\n".join(map(orjson.dumps, rows)))
