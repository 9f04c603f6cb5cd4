"""Grids: the same results locally, in processes, on a scheduler, interrupted and resumed."""

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import time

import pytest

from notebooks.studies import grid

PLACES = [(name, k) for name in ("a", "b") for k in range(4)]
KEYS = [grid.key(*place) for place in PLACES]


def cell(offset, name, k):
    """Return a separate draw for each place."""
    return {"name": name, "draw": offset + grid.generator(7, name, k).random()}


def file(folder, key):
    """Return where the result at a place is kept."""
    return folder / f"{grid.key(key, grid.code(cell))}.json"


def expected(offset=1.0):
    return [cell(offset, *place) for place in PLACES]


@pytest.mark.slow
def test_results_come_in_the_order_of_the_places_however_many_processes():
    assert grid.run(cell, PLACES, common=(1.0,)) == expected()
    assert grid.run(cell, PLACES, common=(1.0,), jobs=2) == expected()


def test_every_place_draws_its_own_numbers():
    draws = [grid.generator(7, *place).random() for place in PLACES] + [grid.generator(8, *PLACES[0]).random()]
    assert len(set(draws)) == len(draws)


def refuses(offset, name, k):
    """Fail at one place."""
    if (name, k) == ("b", 1):
        raise ArithmeticError("no")
    return cell(offset, name, k)


def test_a_grid_goes_on_where_it_was_interrupted(tmp_path):
    with pytest.raises(ArithmeticError, match="no"):
        grid.run(refuses, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path)
    assert len(list(tmp_path.glob("*.json"))) == PLACES.index(("b", 1))
    kept = file(tmp_path, KEYS[0])
    kept.write_text(json.dumps({"result": {"name": "kept", "draw": 0}}))
    found = grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path)
    assert found[0] == {"name": "kept", "draw": 0}
    assert found[1:] == expected()[1:]


@pytest.mark.parametrize("text", ["{", "[]", "", "null", "{}", '{"name": 1}', '"result"', "\x00"])
def test_a_damaged_file_is_named_and_its_cell_computed_again(tmp_path, capsys, text):
    damaged = file(tmp_path, KEYS[2])
    damaged.write_text(text)
    assert grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path) == expected()
    assert f"{damaged} is damaged" in capsys.readouterr().err
    assert grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path) == expected()
    assert not capsys.readouterr().err


@pytest.mark.parametrize("keys", [None, KEYS[:-1], [KEYS[0], *KEYS[:-1]]])
def test_keys_must_tell_the_places_apart(tmp_path, keys):
    with pytest.raises(ValueError, match="keys must contain a different key for each of 8 places"):
        grid.run(cell, PLACES, common=(1.0,), keys=keys, folder=tmp_path)


def test_keys_change_with_what_they_stand_for():
    assert grid.key("a", 1) != grid.key("a", 2)


def test_a_cell_that_other_code_has_made_is_computed_again(tmp_path, monkeypatch):
    """tests/book/test_content_key.py says what counts as different code."""
    grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path)
    kept = {path.name for path in tmp_path.iterdir()}
    monkeypatch.setattr(grid, "code", lambda function: f"other code of {function.__name__}")
    assert grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path) == expected()
    assert len({path.name for path in tmp_path.iterdir()} - kept) == len(kept) == len(PLACES)


def test_progress_is_told_with_the_time_left(capsys):
    grid.run(cell, PLACES, common=(1.0,), progress=True)
    lines = capsys.readouterr().err.splitlines()
    assert len(lines) == 8
    assert lines[-1] == "8 of 8 cells, about 0 min left: b 3"


def test_jobs_must_be_positive():
    with pytest.raises(ValueError, match=r"jobs must be in \[1, inf\), got 0"):
        grid.run(cell, PLACES, common=(1.0,), jobs=0)


# ---- a scheduler and its workers, each a process of its own


def slow(offset, name, k):
    """Take long enough for a worker to be killed meanwhile."""
    time.sleep(0.4)
    return cell(offset, name, k)


def start(*arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distributed.cli." + arguments[0], *arguments[1:]],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
    )  # fmt: skip


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="module")
def cluster():
    """Provide the address of a scheduler, and a function that starts a worker for it."""
    address = f"tcp://127.0.0.1:{free_port()}"
    started = [start("dask_scheduler", "--host", "127.0.0.1", "--port", address.rsplit(":", 1)[1], "--no-dashboard")]

    def worker():
        started.append(start("dask_worker", address, "--nthreads", "1", "--no-nanny", "--no-dashboard"))
        return started[-1]

    yield address, worker
    for process in started:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()


@pytest.mark.full
def test_a_worker_killed_in_mid_grid_changes_nothing(cluster, monkeypatch, tmp_path):
    address, worker = cluster
    first, _ = worker(), worker()
    monkeypatch.setenv(grid.SCHEDULER, address)
    monkeypatch.setattr(grid, "PATIENCE", 120)
    from distributed import Client

    with Client(address, timeout=120, set_as_default=False) as client:
        client.wait_for_workers(2, timeout=120)

        arriving = grid._scheduled(slow, (1.0,), PLACES, range(len(PLACES)), 1)
        found = [next(arriving)]
        os.killpg(first.pid, signal.SIGKILL)  # while it computes another
        found += arriving
        assert [result for _, result in sorted(found, key=lambda pair: pair[0])] == expected()
        assert len(client.scheduler_info()["workers"]) == 1
    assert grid.run(cell, PLACES, common=(1.0,), keys=KEYS, folder=tmp_path) == expected()
    assert len(list(tmp_path.glob("*.json"))) == 8


@pytest.mark.slow
def test_an_error_in_a_cell_comes_back_from_the_worker(cluster, monkeypatch):
    address, worker = cluster
    worker()
    monkeypatch.setenv(grid.SCHEDULER, address)
    monkeypatch.setattr(grid, "PATIENCE", 120)
    with pytest.raises(ArithmeticError, match="no"):
        grid.run(refuses, PLACES, common=(1.0,))


@pytest.mark.full
def test_a_scheduler_that_is_not_there_is_named(monkeypatch):
    monkeypatch.setattr(grid, "PATIENCE", 1)
    monkeypatch.setenv(grid.SCHEDULER, f"tcp://127.0.0.1:{free_port()}")
    with pytest.raises(grid.SchedulerError, match="COMPENDIUM_SCHEDULER=tcp://.* does not answer .*start it, or unset"):
        grid.run(cell, PLACES, common=(1.0,))


@pytest.mark.full
def test_a_scheduler_without_workers_is_named(monkeypatch):
    address = f"tcp://127.0.0.1:{free_port()}"
    scheduler = start("dask_scheduler", "--host", "127.0.0.1", "--port", address.rsplit(":", 1)[1], "--no-dashboard")
    try:
        monkeypatch.setenv(grid.SCHEDULER, address)
        from distributed import Client

        # The machine may be busy: wait until the scheduler is there.
        Client(address, timeout=120, set_as_default=False).close()
        with pytest.raises(grid.SchedulerError, match="has no workers"):
            grid.run(cell, PLACES, common=(1.0,))
    finally:
        os.killpg(scheduler.pid, signal.SIGKILL)
        scheduler.wait()
