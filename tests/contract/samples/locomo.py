"""A sample in the shape of LoCoMo: one pair of people, two sessions, evidence in every form."""

from pathlib import Path
from typing import Any

from tests.contract.samples.files import write_json


def turn(dia_id: str, speaker: str, text: str, **more: Any) -> dict[str, Any]:
    """Give one turn."""
    return {"speaker": speaker, "dia_id": dia_id, "text": text, **more}


def sample(sample_id: str = "conv-1", **parts: Any) -> dict[str, Any]:
    """Give one pair of people."""
    conversation = {
        "speaker_a": "Ann",
        "speaker_b": "Bo",
        "session_2_date_time": "9:00 am on 9 May, 2023",
        "session_2": [turn("D2:1", "Bo", "I sold it.")],
        "session_1_date_time": "1:56 pm on 8 May, 2023",
        "session_1": [turn("D1:1", "Ann", "I have a boat."), turn("D1:2", "Bo", "Nice!", img_url=["u"], blip_caption="a boat")],
    }
    return {
        "sample_id": sample_id,
        "conversation": conversation,
        "observation": {"session_1_observation": {"Ann": [["Ann has a boat.", "D1:1"], ["Bo likes it.", ["D1:1; D1:2", "D"]]]}},
        "session_summary": {"session_1_summary": "Ann told Bo of her boat."},
        "event_summary": {"events_session_2": {"Ann": [], "Bo": ["Bo sells the boat."], "date": "9 May, 2023"}},
        "qa": [{"question": "Who has a boat?", "answer": "Ann", "evidence": ["D:11:26"], "category": 1}],
        **parts,
    }


def write(folder: Path) -> tuple[list[Path], int]:
    """Write a sample and one that holds no conversation."""
    return [write_json(folder / "locomo.json", [sample(), {"sample_id": "conv-2", "conversation": 5}])], 2
