"""Laws of an exported calibration: what is read is what was written, a page holds what it shows, and nothing from outside becomes markup."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from xml.etree import ElementTree as ET

import orjson
import pytest

from guardian.core.model import ChannelTrust
from guardian.errors import ConfigError
from guardian.trust.calibrate import Calibration, Cell, assess_all
from guardian.trust.calibration_document import Report, build_document, choose_calibration, dump_document, read_document
from guardian.trust.calibration_page import build_page, list_reliability
from tests.unit.trust.test_calibrate import checker, copy, draw
from tests.unit.trust.test_detector import narrow

HOSTILE = "x</svg><script>alert(1)</script>\"'&"


def report_of(*calibrations: Calibration) -> Report:
    """Give a report."""
    return Report(made_at=datetime(2026, 4, 1, tzinfo=UTC), gain=1.0, harm=2.0, calibrations=calibrations)


@pytest.fixture(scope="module")
def calibration() -> Calibration:
    """Give a calibration of two channels that err apart and one that repeats the agent."""
    return assess_all(draw(300, a=checker, b=checker, c=copy), resamples=60)


def test_what_is_exported_can_be_activated(calibration: Calibration) -> None:
    """Id, alphas and payoffs go round; a channel that fails is named as such, an ensemble is there when it passes."""
    (found,) = read_document(dump_document(report_of(calibration)), name="r.json")
    assert (found.id, found.spaces) == (calibration.id, "*")
    assert found.channels == calibration.trusts
    assert found.channels["c"] == ChannelTrust(alpha=0.0, payoff=0.0, passes=False)
    both = found.channels["a+b"]
    assert (both.members, both.passes) == (("a", "b"), True)
    assert both.payoff > max(found.channels["a"].payoff, found.channels["b"].payoff) > 0
    assert "a+c" not in found.channels


def test_a_document_says_how_it_decided(calibration: Calibration) -> None:
    """Every channel has its reasons, sample sizes and intervals; the rules are named, and so is when."""
    document = build_document(report_of(calibration))
    assert (document["made_at"], document["harm"]) == ("2026-04-01T00:00:00.000000Z", 2.0)
    assert set(document["rules"]) == {"least_labelled", "least_truth", "most_bias", "least_flags"}
    channels = {one["channel"]: one for one in document["calibrations"][0]["channels"]}
    assert "errors_follow_the_self_grade" in channels["c"]["failures"]
    assert channels["a"]["failures"] == ()
    for one in channels.values():
        assert one["n"] == 300
        assert one["corr_truth"]["low"] <= one["corr_truth"]["value"] <= one["corr_truth"]["high"]


def test_a_measured_id_stands_for_what_was_measured(calibration: Calibration) -> None:
    """Decisions changed by hand need an id of their own, and neither the truth nor the agent's own word can be weighed."""
    document = orjson.loads(dump_document(report_of(calibration)))
    (entry,) = document["calibrations"]
    entry["trusts"]["c"] = {"alpha": 1.0, "payoff": 0.9, "passes": True}
    with pytest.raises(ConfigError, match="changed after it was measured"):
        read_document(orjson.dumps(document), name="r.json")
    entry["id"] = "ours"
    (found,) = read_document(orjson.dumps(document), name="r.json")
    assert found.channels["c"].passes
    for name, members in (("self", None), ("mean", ["c", "gold"])):
        entry["trusts"][name] = {"alpha": 1.0, "payoff": 0.9, "passes": True, "members": members}
        with pytest.raises(ConfigError, match="no evidence"):
            read_document(orjson.dumps(document), name="r.json")
        del entry["trusts"][name]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"nothing", "JSON"),
        (b"[]", "object"),
        (b'{"format":"other","calibrations":[]}', "format"),
        (b'{"format":"guardian-calibration/1","calibrations":[]}', "calibrations"),
        (
            b'{"format":"guardian-calibration/1","calibrations":[{"id":"c","spaces":"*","trusts":{"x":{"alpha":2,"payoff":0,"passes":true}}}]}',
            "trusts.x.alpha",
        ),
    ],
)
def test_what_is_no_calibration_is_told_as_one(content: bytes, says: str) -> None:
    """The fault and the mend are named."""
    with pytest.raises(ConfigError, match=r"audit report --export") as caught:
        read_document(content, name="r.json")
    assert says in str(caught.value)


def test_a_space_gets_the_calibration_of_its_group() -> None:
    """The first pattern that matches, else that of all spaces; without one nothing."""
    document = build_document(report_of(*(assess_all([], spaces=spaces) for spaces in ("*", "team-*", "team-1"))))
    every, teams, _ = found = read_document(orjson.dumps(document), name="r.json")
    assert choose_calibration("team-1", found) is teams
    assert choose_calibration("alone", found) is every
    assert choose_calibration("alone", [teams]) is None


def test_cells_hold_every_record(calibration: Calibration) -> None:
    """Counts add up, the truth rises with the verdict of a channel that knows, and the id does not hang on the picture."""
    assert sum(cell.count for cell in calibration.cells["a"]) == 300
    line = list_reliability(calibration.cells["a"])
    assert [verdict for verdict, _ in line] == [0.0, 1.0]
    assert line[0][1] < 0.3
    assert line[1][1] > 0.7
    assert list_reliability([Cell(verdict=0.52, truth=0.0, count=3), Cell(verdict=0.56, truth=1.0, count=1)]) == [(0.53, 0.25)]


def test_a_page_needs_nothing_and_believes_nobody(calibration: Calibration) -> None:
    """Well-formed pictures of every channel, no script, nothing fetched, and a hostile name is text."""
    hostile = assess_all(draw(80, **{HOSTILE: checker}), spaces=HOSTILE, resamples=30)
    page = build_page(report_of(calibration, hostile, assess_all([])))
    assert "<script" not in page
    assert not re.search(r"https?://|src=|href=|@import|url\(", page)
    pictures = re.findall(r"<svg.*?</svg>", page, flags=re.DOTALL)
    shapes = [ET.fromstring(picture) for picture in pictures]  # made by this very test
    # Three intervals and the payoffs of each calibration that has channels, and two pictures of each channel and ensemble.
    assert len(pictures) == 2 * 4 + 2 * (len(calibration.channels) + len(calibration.ensembles) + 1)
    titles = {shape.findtext("title") for shape in shapes}
    assert f"verdict and truth of {HOSTILE}" in titles
    for one in (*calibration.channels, *calibration.ensembles):
        assert f"remaining variance of {one.channel}" in titles
    assert f"{calibration.channels[0].payoff.value:.3f}" in page
    assert "No channel judged a labelled record." in page


def test_a_channel_of_which_little_is_known_is_drawn_as_unknown() -> None:
    """Never as a value."""
    page = build_page(report_of(assess_all(draw(10, a=checker), resamples=10)))
    assert page.count(">unknown<") >= 3
    assert "too few labelled" in page
    assert "remaining variance" not in page


def test_a_detector_is_exported_and_shown_as_one() -> None:
    """It goes round as such; the page names both gates, and why the one is shut."""
    found = assess_all(draw(300, d=narrow), resamples=30)
    (activatable,) = read_document(dump_document(report_of(found)), name="r.json")
    assert activatable.channels == found.trusts
    assert activatable.channels["d"].detects
    page = build_page(report_of(found))
    assert "may demote by its flags alone" in page
    assert "as a detector: passes" in page
    assert "as a score: errors follow the self grade" in page
