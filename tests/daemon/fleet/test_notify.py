"""What the service manager is told, and that its watchdog is fed only while every loop goes on."""

from __future__ import annotations

import os
import socket
from pathlib import Path

import pytest

from adocd.daemon.fleet.notify import Attendance, ServiceManager
from tests.api.harness import Service, with_service
from tests.daemon.harness import overflowing, until

LONG_S = 1000.0


def listening(address: str) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    listener.bind("\0" + address[1:] if address.startswith("@") else address)
    listener.setblocking(False)
    return listener


def said(listener: socket.socket) -> list[str]:
    words: list[str] = []
    while True:
        try:
            words += listener.recv(4096).decode().splitlines()
        except BlockingIOError:
            return words


def test_what_is_too_long_for_systemd_is_shortened(run_dir: Path) -> None:
    """A reload has a sentence for each database, and systemd ignores a message of more than 4096 bytes."""
    address = str(run_dir / "notify")
    with listening(address) as listener:
        ServiceManager.of_environment({"NOTIFY_SOCKET": address}).tell("STATUS=1 database; " + "ä" * 10_000)
        message = listener.recv(65536)
    assert len(message) < 4096
    assert message.decode().startswith("STATUS=1 database; ää")
    assert message.decode().endswith("ä... (its log has all of it)")


@pytest.mark.parametrize("abstract", [False, True])
def test_it_tells_the_manager_that_the_environment_names(run_dir: Path, abstract: bool) -> None:
    address = f"@adocd-test-{os.getpid()}" if abstract else str(run_dir / "notify")
    environment = {"NOTIFY_SOCKET": address, "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": str(os.getpid())}
    with listening(address) as listener:
        manager = ServiceManager.of_environment(environment)
        assert environment == {}, "what it starts is not the service"
        assert manager.watchdog_s == 3.0
        manager.tell("READY=1", "STATUS=well")
        assert said(listener) == ["READY=1", "STATUS=well"]
        manager.reloading()
        first, second = said(listener)
        assert first == "RELOADING=1"
        assert second.removeprefix("MONOTONIC_USEC=").isdecimal()


@pytest.mark.parametrize(
    "environment",
    [
        {},
        {"WATCHDOG_USEC": "3000000"},
        {"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "3000000", "WATCHDOG_PID": "1"},
        {"NOTIFY_SOCKET": "/nowhere/at/all", "WATCHDOG_USEC": "soon"},
    ],
)
def test_nobody_who_watches_is_no_trouble(environment: dict[str, str]) -> None:
    manager = ServiceManager.of_environment(environment)
    assert manager.watchdog_s is None
    manager.tell("READY=1")


def test_a_manager_that_does_not_read_holds_nobody_up(run_dir: Path) -> None:
    with listening(str(run_dir / "notify")) as listener:
        manager = ServiceManager(str(run_dir / "notify"), None)
        for _ in range(2000):
            manager.tell("WATCHDOG=1")
        assert said(listener)


def test_the_watchdog_starves_while_one_loop_hangs(tmp_path: Path, run_dir: Path) -> None:
    async def body(service: Service) -> None:
        loop = service.loop
        with listening(str(run_dir / "notify")) as listener:
            attendance = Attendance(ServiceManager(str(run_dir / "notify"), 30.0), service.fleet)
            await until(lambda: service.fleet.settings.vitals.discovered_s is not None, "agents were looked for")
            attendance.attend()
            assert said(listener) == ["WATCHDOG=1", "STATUS=1 database"]
            async with loop._turn:  # as a cycle that never ends has it
                assert loop.remembered.vitals.ticked_s is not None
                loop.remembered.vitals.ticked_s -= LONG_S
                attendance.attend()
                assert attendance.wedged() == f"the loop of {loop.path}"
                assert said(listener) == [f"STATUS=1 database; the loop of {loop.path} hangs"]
            await until(lambda: attendance.wedged() is None, "it ticks again")
            attendance.attend()
            assert said(listener) == ["WATCHDOG=1", "STATUS=1 database"]
            service.fleet.settings.vitals.discovered_s = service.fleet.settings.clock() - LONG_S
            assert attendance.wedged() == "the search for agents"

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_a_reload_to_shorter_ticks_starves_no_watchdog(tmp_path: Path) -> None:
    """The loop sleeps to the end of the tick that it has begun."""

    async def body(service: Service) -> None:
        vitals = service.loop.remembered.vitals
        attendance = Attendance(ServiceManager(None, None), service.fleet)
        await until(lambda: vitals.tick_s > 0, "it sleeps")
        async with service.loop._turn:
            vitals.tick_s = 60.0  # as it was when the sleep began
            assert vitals.ticked_s is not None
            vitals.ticked_s -= 100.0
            assert attendance.wedged() is None
            vitals.ticked_s -= 100.0
            assert attendance.wedged() == f"the loop of {service.loop.path}"

    with_service(tmp_path, overflowing(tmp_path / "db"), body)


def test_the_status_says_what_is_the_matter(tmp_path: Path) -> None:
    database = overflowing(tmp_path / "db")
    database.measurements.properties["rocksdb.is-write-stopped"] = 1

    async def body(service: Service) -> None:
        attendance = Attendance(ServiceManager(None, None), service.fleet)
        await until(lambda: service.loop.status.stall is not None, "the stall is seen")
        assert attendance.status() == "1 database, 1 stalled"
        await service.call("POST", "/v1/pause", {})
        attendance.reloaded = "the configuration was read again"
        assert attendance.status() == "1 database, 1 stalled, 1 paused; the configuration was read again"

    with_service(tmp_path, database, body)
