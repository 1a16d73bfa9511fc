"""Settings: what a file may hold, and what every wrong one is answered with."""

from datetime import timedelta
from pathlib import Path

import pytest

from guardian.core.model import ChannelTrust
from guardian.errors import ConfigError
from guardian.settings import TOML_NAME, Settings, load_settings
from guardian.wiring import build_kafka_security


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("policy.session_window_s = 1e300", "POLICY__SESSION_WINDOW_S"),
        ("policy.session_window_s = inf", "POLICY__SESSION_WINDOW_S"),
        ("policy.restate_threshold = nan", "POLICY__RESTATE_THRESHOLD"),
        ("policy.payoffs = { x = 2.0 }", "payoffs must be in"),
        ("policy.alphas = { x = -0.1 }", "alphas must be in"),
        ("limits.future_tolerance_s = 1e12", "LIMITS__FUTURE_TOLERANCE_S"),
        ("limits.retry_max_s = inf", "LIMITS__RETRY_MAX_S"),
        ("kafka.session_timeout_s = 1e300", "KAFKA__SESSION_TIMEOUT_S"),
        ("kafka.max_fetch_bytes = 1_000_000_000_000", "KAFKA__MAX_FETCH_BYTES"),
        ('drift = { channel = "checker" }', "DRIFT"),
        ('drift = { channel = "checker", channel_sensitivity = 0.5, channel_specificity = 0.5 }', "DRIFT"),
        ("drift = { channel_sensitivity = 0.5 }", "DRIFT"),
        ('drift = { channel = "gold", channel_sensitivity = 1.0, channel_specificity = 1.0 }', "DRIFT"),
        ("drift.every_s = -1.0", "DRIFT__EVERY_S"),
        ("alerts.corrupted_clear = 0.6", "ALERTS"),
        ("alerts.margin_clear = 0.05", "ALERTS"),
        ('alerts.silent = ["everything"]', "ALERTS__SILENT"),
        (f"a = {'[' * 2000}{']' * 2000}", TOML_NAME),
        ("a = ", TOML_NAME),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, name: str) -> None:
    """A number beyond the calendar or beyond the protocol, and a file that is none, stop at the start, not at an event."""
    (tmp_path / TOML_NAME).write_text(line)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ConfigError, match=name):
        load_settings()


def test_the_longest_durations_are_good_for_policies(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is accepted works: a century is a window."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / TOML_NAME).write_text("policy.session_window_s = 3_155_760_000\nlimits.future_tolerance_s = 3_155_760_000\n")
    assert load_settings().policy_for("s").session_window == timedelta(days=36_525)


def test_a_calibration_in_the_settings_and_who_may_send_the_truth(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The lines of a report make a policy; whose gold is believed is part of the trust of a space."""
    (tmp_path / TOML_NAME).write_text(
        'policy.alphas = { x = 0.75, y = 0.0 }\npolicy.payoffs = { x = 0.1 }\npolicy.calibration = "cal-1"\n'
        'policy.detectors = ["x"]\n'
        'trust.gold_sources = ["/desk/*"]\n[spaces."open-*"]\n'
    )
    monkeypatch.chdir(tmp_path)
    policy = load_settings().policy_for("s")
    assert policy.trusted == {"x": ChannelTrust(alpha=0.75, payoff=0.1, passes=True, detects=True)}
    assert policy.mark is not None
    assert policy.gold_sources == ("/desk/*",)
    assert load_settings().policy_for("open-1").gold_sources == ("*",)


def test_a_path_with_nul_is_a_wrong_setting() -> None:
    """The mend names the settings of TLS, whatever the system says of the path."""
    with pytest.raises(ConfigError, match="TLS"):
        build_kafka_security(Settings(kafka={"security_protocol": "SSL", "ssl_cafile": "a\x00"}))
