"""Laws of keys: who is known, what they open, and how often they may ask."""

from __future__ import annotations

import pytest
from pydantic import ValidationError

from guardian.core.model import SourceKind
from guardian.errors import ConfigError
from guardian.serve.key import Key, Keyring, Right, digest_secret
from guardian.serve.rate import RateLimit
from guardian.serve.server import is_loopback, require_keys
from guardian.settings import KeySettings, ServeSettings, Settings
from guardian.wiring import build_keyring, choose_mcp_key

SECRET = "a-secret-of-enough-characters"


def key(name: str = "k", *, secret: str = SECRET, spaces: tuple[str, ...] = ("a",), burst: int = 2) -> Key:
    """Build a key."""
    return Key(name=name, digest=digest_secret(secret), spaces=spaces, actor=name, source="/k", rate_per_s=1.0, burst=burst)


@pytest.mark.parametrize("secret", [SECRET[:-1], SECRET + "x", SECRET.upper(), "", " " + SECRET, "\ud800"])
def test_only_the_very_secret_finds_a_key(secret: str) -> None:
    """A secret that is nearly right is nobody's."""
    keyring = Keyring([key(), key("other", secret="another-secret-of-enough-characters")])
    found = keyring.find(SECRET)
    assert found is not None
    assert found.name == "k"
    assert keyring.find(secret) is None


def test_whoever_presents_a_wrong_key_is_not_taken_for_anonymous() -> None:
    """An open service stays closed to a typing error: it would do less or more than the bearer thinks."""
    anonymous = key("local")
    keyring = Keyring([], anonymous=anonymous)
    assert keyring.find(None) is anonymous
    assert keyring.find("wrong") is None
    assert Keyring([key()]).find(None) is None


def test_patterns_open_what_they_match_and_nothing_else() -> None:
    """A space is opened by a pattern of the whole name."""
    opens = key(spaces=("team-*", "shop")).opens
    assert [opens(space) for space in ("team-a", "shop", "shop2", "a-team-b", "SHOP", "")] == [
        True,
        True,
        False,
        False,
        False,
        False,
    ]
    assert not key(spaces=()).opens("shop")


def test_a_bucket_lets_a_burst_through_and_then_the_rate() -> None:
    """After the burst a key waits for exactly what it lacks, whatever others do."""
    now = [100.0]
    rate = RateLimit(clock=lambda: now[0])
    mine, other = key("mine"), key("other")
    assert [rate.take(mine) for _ in range(3)] == [0.0, 0.0, 1.0]
    assert rate.take(other) == 0.0
    now[0] += 0.75
    assert rate.take(mine) == pytest.approx(0.25)
    now[0] += 0.25
    assert rate.take(mine) == 0.0
    now[0] += 1_000
    assert [rate.take(mine) for _ in range(3)] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize(
    ("given", "fault"),
    [
        ({}, "one of them"),
        ({"secret": SECRET, "digest": "sha256:" + "0" * 64}, "one of them"),
        ({"secret": "short"}, "at least 24"),
        ({"digest": "0" * 64}, "sha256:"),
        ({"secret": SECRET, "may": ["admin"]}, "correct"),
        ({"secret": SECRET, "burst": 0}, "greater"),
    ],
)
def test_a_key_that_cannot_be_meant_is_refused(given: dict[str, object], fault: str) -> None:
    """The message names what is wrong, before anything listens."""
    with pytest.raises(ValidationError, match=fault):
        KeySettings.model_validate(given)


def test_a_key_by_digest_and_one_by_secret_are_the_same() -> None:
    """The file need not hold the secret."""
    by_digest = KeySettings(digest=f"sha256:{digest_secret(SECRET).hex()}", spaces=("a",))
    by_secret = KeySettings(secret=SECRET, spaces=("a",))
    rings = [build_keyring(Settings(serve=ServeSettings(keys={"k": each}))) for each in (by_digest, by_secret)]
    assert rings[0].find(SECRET) == rings[1].find(SECRET) is not None
    assert all(ring.anonymous is None for ring in rings)


def test_two_keys_of_one_secret_are_refused() -> None:
    """Whose word it would be, nobody could say."""
    keys = {name: KeySettings(secret=SECRET) for name in ("a", "b")}
    with pytest.raises(ConfigError, match="same secret"):
        build_keyring(Settings(serve=ServeSettings(keys=keys)))


def test_secrets_are_never_shown() -> None:
    """Neither settings nor keys print a secret."""
    settings = ServeSettings(keys={"k": KeySettings(secret=SECRET)})
    built = build_keyring(Settings(serve=settings)).find(SECRET)
    assert SECRET not in f"{settings!r} {settings.model_dump(mode='json')} {built!r}"


def test_without_keys_one_may_read_and_write_but_never_correct() -> None:
    """Nobody's word corrects."""
    anonymous = build_keyring(Settings()).anonymous
    assert anonymous is not None
    assert anonymous.may == {Right.READ, Right.ANSWER, Right.WRITE}
    assert anonymous.highest is SourceKind.AGENT


def test_the_model_has_the_rights_of_the_key_that_is_named_for_it() -> None:
    """Without one it reads, and answers where a model is set; a name that nobody has is an error."""
    assert choose_mcp_key(Settings()).may == {Right.READ, Right.ANSWER}
    keys = {"desk": KeySettings(secret=SECRET, may=frozenset({"read", "correct"}), highest=SourceKind.HUMAN_REVIEW, actor="ann")}
    chosen = choose_mcp_key(Settings(serve=ServeSettings(keys=keys, mcp_key="desk")))
    assert (chosen.actor, chosen.highest, chosen.may) == ("ann", SourceKind.HUMAN_REVIEW, {Right.READ, Right.CORRECT})
    with pytest.raises(ConfigError, match="known: desk"):
        choose_mcp_key(Settings(serve=ServeSettings(keys=keys, mcp_key="desk2")))


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "10.0.0.1", "example.org", "127.0.0.1.example.org"])
def test_others_are_not_served_without_keys(address: str) -> None:
    """An address that others reach needs keys."""
    assert not is_loopback(address)
    require_keys(address, has_keys=True)
    with pytest.raises(ConfigError, match=r"serve\.keys"):
        require_keys(address, has_keys=False)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_this_machine_is_served_without_keys(address: str) -> None:
    """Loopback is one's own."""
    require_keys(address, has_keys=False)
