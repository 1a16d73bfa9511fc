"""The registry: formats by name, by content, and from installed packages, with errors that name the mend."""

from pathlib import Path

import pytest

from guardian.errors import ConfigError
from guardian.sources import registry

PLUGIN = """
class Notes:
    name = "{name}"
    title = "plain notes"

    def detect(self, path):
        return path.read_bytes().startswith({magic!r})

    def iter_items(self, paths, options):
        return iter(())
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch, *, name: str, code: str, value: str) -> None:
    """Install a package with one entry point on the import path."""
    module = value.partition(":")[0]
    (folder / f"{module}.py").write_text(code)
    metadata = folder / f"{module}-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text(f"[guardian.sources]\n{name} = {value}\n")
    monkeypatch.syspath_prepend(str(folder))


def test_built_in_sources_are_found_by_name() -> None:
    """Give the source that carries the name."""
    for source in registry.BUILT_IN:
        assert registry.by_name(source.name) is source


def test_an_unknown_name_is_answered_with_the_known_ones() -> None:
    """Name what exists."""
    with pytest.raises(ConfigError, match=r"no memory format 'mem1'.*cloudevents.*mem0.*mcp-memory"):
        registry.by_name("mem1")


def test_a_file_that_nothing_recognises_is_answered_with_the_known_formats(tmp_path: Path) -> None:
    """Tell missing, empty and unknown files apart."""
    path = tmp_path / "notes.txt"
    with pytest.raises(ConfigError, match="does not exist"):
        registry.detect(path)
    path.touch()
    with pytest.raises(ConfigError, match="is empty"):
        registry.detect(path)
    path.write_text("hello")
    with pytest.raises(ConfigError, match=r"no memory format that is known.*cloudevents.*mem0.*mcp-memory"):
        registry.detect(path)
    with pytest.raises(ConfigError, match="no memory format that is known"):
        registry.detect(tmp_path)


def test_an_installed_package_adds_a_format(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Load it from its entry point and let it detect."""
    code = PLUGIN.format(name="notes", magic=b"#notes")
    install(tmp_path, monkeypatch, name="notes", code=code, value="notes_plugin_a:Notes")
    path = tmp_path / "x"
    path.write_text("#notes\n")
    assert registry.by_name("notes").title == "plain notes"
    assert registry.detect(path).name == "notes"


def test_two_formats_that_recognise_one_file_are_never_chosen_silently(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ask for the name."""
    code = PLUGIN.format(name="braces", magic=b"{")
    install(tmp_path, monkeypatch, name="braces", code=code, value="notes_plugin_b:Notes")
    path = tmp_path / "x"
    path.write_text('{"specversion":"1.0","type":"memory.written"}')
    with pytest.raises(ConfigError, match=r"any of: cloudevents.*braces.*Name the format"):
        registry.detect(path)


def test_two_formats_of_one_name_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never let a package shadow a built-in format."""
    code = PLUGIN.format(name="mem0", magic=b"!")
    install(tmp_path, monkeypatch, name="other", code=code, value="notes_plugin_c:Notes")
    with pytest.raises(ConfigError, match="Two memory formats are called 'mem0'"):
        registry.load_sources()


@pytest.mark.parametrize(
    ("module", "code", "message"),
    [
        ("notes_plugin_d", "raise ImportError('no such thing')", "cannot be loaded"),
        ("notes_plugin_e", "Notes = object()", "is no source"),
    ],
)
def test_a_broken_package_is_named_with_the_mend(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, module: str, code: str, message: str
) -> None:
    """Say which package to upgrade or uninstall."""
    install(tmp_path, monkeypatch, name="notes", code=code, value=f"{module}:Notes")
    with pytest.raises(ConfigError, match=rf"'notes' of package '{module}' {message}.*Mend"):
        registry.load_sources()
