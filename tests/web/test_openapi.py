"""The HTTP API against its OpenAPI schema."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from test_ladders_and_loops import make_ladder, make_loop
from web_pages import Server, make_server

from komadori.run_lock import RunLock

schemathesis = pytest.importorskip("schemathesis")
from schemathesis.specs.openapi.checks import positive_data_acceptance  # noqa: E402

MAX_EXAMPLES = 15


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    folder = tmp_path_factory.mktemp("web")
    fill(folder)
    with make_server(folder) as client:
        with Server(client).page() as page:
            request = page.send("study", games=[{"position": "startpos moves 7g7f"}], nodes=5)
            while page.until("study", id=request)["state"] == "running":
                pass
        app = client.app
        yield schemathesis.openapi.from_asgi(
            "/api/openapi.json", app, headers={"host": "127.0.0.1"}
        )


def fill(folder: Path) -> None:
    """Create a training run, a match, a loop, a ladder and a laboratory report."""
    run = folder / "runs" / "first"
    run.mkdir(parents=True)
    (run / "log.jsonl").write_text(
        '{"kind": "run", "step": 0, "net": "resnet5x64"}\n'
        '{"kind": "test", "step": 10, "loss": 1.5, "policy_accuracy": null}\n'
    )
    match = folder / "match"
    match.mkdir()
    (match / "games.jsonl").write_text('{"format": 1, "players": ["a", "b"]}\n{"bad": 1}\n')
    make_loop(folder / "loop")
    make_ladder(folder / "strength.db")
    lab = folder / "lab"
    (lab / "data").mkdir(parents=True)
    (lab / "index.md").write_text(
        "# The laboratory\n\n[one](one.md#x) <script>alert(1)</script> [elsewhere](../../x.md) "
        "[out](https://example.com/a.md) ![plot](<one plot.svg>)\n"
    )
    (lab / "one.md").write_text("# One\n\n| a | b |\n|---|---|\n| 1 | 2<br>3 |\n")


def test_responses_match_the_schema(api: Any) -> None:
    operations = [found.ok() for found in api.get_all_operations()]
    assert len(operations) >= 18
    for operation in operations:

        @given(case=operation.as_strategy())
        @settings(
            max_examples=MAX_EXAMPLES,
            derandomize=True,
            database=None,
            suppress_health_check=list(HealthCheck),
        )
        def answers(case: Any) -> None:
            # The schema allows positions that the rules reject.
            case.call_and_validate(
                headers={"host": "127.0.0.1"}, excluded_checks=[positive_data_acceptance]
            )

        answers()


def is_running(client: Any, name: str) -> bool:
    return bool(next(r for r in client.get("/api/runs").json() if r["name"] == name)["is_running"])


def test_a_log_of_the_future_is_not_being_written(tmp_path: Path) -> None:
    """The clock was set back, or the run comes from a machine whose clock is ahead."""
    fill(tmp_path)
    with make_server(tmp_path) as client:
        assert is_running(client, "runs/first")
        for path in (tmp_path / "runs" / "first").iterdir():
            os.utime(path, (time.time() + 7200,) * 2)
        assert not is_running(client, "runs/first")


def test_trainings_are_listed(tmp_path: Path) -> None:
    fill(tmp_path)
    with make_server(tmp_path) as client:
        run = next(r for r in client.get("/api/runs").json() if r["name"] == "runs/first")
        assert (run["name"], run["step"], run["is_running"]) == ("runs/first", 10, True)
        with RunLock(tmp_path / "runs" / "first"):
            assert is_running(client, "runs/first")
        assert not is_running(client, "runs/first")  # its log has no end: NNUE and KPP write none
        assert client.get("/api/runs/runs/first/log?since=1").json()["entries"][0]["step"] == 10
        assert client.get("/api/runs/nothing/log").status_code == 404
        assert client.get("/api/matches").json()[0]["players"] == ["a", "b"]
        pages = client.get("/api/lab").json()
        assert pages[0]["title"] == "The laboratory"
        page = client.get(f"/api/lab/{pages[0]['name']}")
        assert "<script>" not in page.text
        assert "sandbox" in page.headers["content-security-policy"]
        assert 'href="/#/lab/lab%2Fone" target="_top">one' in page.text
        assert "<a>elsewhere</a>" in page.text
        assert 'href="https://example.com/a.md" target="_blank"' in page.text
        assert 'src="/api/lab/lab/one%20plot.svg"' in page.text
        assert "allow-scripts" not in page.headers["content-security-policy"]
        dark = client.get(f"/api/lab/{pages[0]['name']}?theme=dark").text
        assert 'data-theme="dark"' in dark
        assert "2<br>3" in client.get("/api/lab/lab/one").text


def test_a_log_is_followed_as_it_grows(tmp_path: Path) -> None:
    fill(tmp_path)
    log = tmp_path / "runs" / "first" / "log.jsonl"
    with make_server(tmp_path) as client, Server(client).page() as page:
        request = page.send("watch", what="run", name="runs/first", since=1)
        first = page.until("watched", id=request)
        assert (first["since"], len(first["entries"]), first["is_running"]) == (1, 1, True)
        with log.open("a") as file:
            file.write('{"kind": "train", "step": 20}\n{"kind": "tra')
        second = page.until("watched", id=request)
        assert (second["since"], [e["step"] for e in second["entries"]]) == (2, [20])
        with log.open("a") as file:
            file.write('in", "step": 30}\n{"kind": "end", "step": 30}\n')
        third = page.until("watched", id=request)
        assert (third["since"], third["is_running"]) == (3, False)
        log.write_text('{"kind": "run", "step": 0}\n')
        assert page.until("watched", id=request)["since"] == 0
        assert page.ask("unwatch", "ok", watch=request)
        assert page.ask("watch", "error", what="match", name="none")["code"] == "unknown_name"
