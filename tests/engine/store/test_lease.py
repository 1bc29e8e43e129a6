"""A run in an object store belongs to one process at a time, and to none soon after its process has ended."""

import json
import os
import threading
import time
from contextlib import ExitStack
from typing import Any

import pytest

from brittle.engine.store import lease as leases
from brittle.engine.store.lease import Lease, claims
from brittle.engine.store.place import Place
from brittle.errors import BrittleError, Failure

HERE = Place("s3://runs/study")
ELSEWHERE = {"process": 4711, "host": "another", "boot": "other", "namespace": "other", "started": "1", "holds": True}


def claim_of(store, **said: Any) -> None:
    store.write(f"runs/study/.lock/{'0' * 32}", json.dumps(ELSEWHERE | said).encode())


def test_of_many_that_begin_at_once_one_holds_the_run_at_a_time(store, monkeypatch):
    """Four at a time, each six times: a turn that finds another within is counted."""
    monkeypatch.setattr(leases, "RENEWED", 0.05)
    within, most, turns, lock = 0, 0, 0, threading.Lock()

    def work() -> None:
        nonlocal within, most, turns
        for _ in range(6):
            try:
                with Lease(HERE).held():
                    with lock:
                        within, turns = within + 1, turns + 1
                        most = max(most, within)
                    time.sleep(0.01)
                    with lock:
                        within -= 1
            except BrittleError:
                time.sleep(0.01)

    monkeypatch.setattr(leases.random, "uniform", lambda *_: 0.02)
    workers = [threading.Thread(target=work) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert most == 1
    assert turns  # not none; how many is for the machine to say
    assert claims(store, HERE) == []


def test_a_second_process_is_refused_and_told_who_holds_the_run(store):
    claim_of(store)
    told = r"s3://runs/study is in use by another process \(process 4711 on another\)"
    with pytest.raises(BrittleError, match=told), Lease(HERE).held():
        pass
    assert [each.said["process"] for each in claims(store, HERE)] == [4711]


@pytest.mark.parametrize("holds", [True, False], ids=["held", "about to hold"])
def test_a_lease_that_nobody_renews_ends_by_the_clock_of_the_store(store, monkeypatch, holds):
    monkeypatch.setattr(leases, "LEASE", 2.0)
    claim_of(store, holds=holds)
    time.sleep(4)
    with Lease(HERE).held():
        assert [each.said["process"] for each in claims(store, HERE)] == [os.getpid()]


def test_a_process_of_this_machine_that_is_gone_holds_nothing(store):
    here = leases.machine()
    for said in ({"process": 2**22 + 1}, {"process": os.getpid(), "started": "0"}):  # no such number; another's number
        claim_of(store, **here, **said)
        with Lease(HERE).held():
            pass
    claim_of(store, **here, process=os.getpid(), started=leases.started(os.getpid()))
    with pytest.raises(BrittleError, match="in use by another process"), Lease(HERE).held():
        pass


def test_a_lease_is_renewed_for_as_long_as_it_is_held(store, monkeypatch):
    monkeypatch.setattr(leases, "LEASE", 3.0)
    monkeypatch.setattr(leases, "RENEWED", 0.5)
    with Lease(HERE).held():
        time.sleep(5)
        with pytest.raises(BrittleError, match="in use by another process"), Lease(HERE).held():
            pass


def test_a_process_that_slept_past_its_lease_removes_nothing_once_another_holds_the_run(store, monkeypatch):
    """As after SIGSTOP: its thread did not renew, and another took the run over."""
    monkeypatch.setattr(leases, "LEASE", 2.0)
    monkeypatch.setattr(leases, "RENEWED", 3600.0)
    with ExitStack() as stack:
        slept = Lease(HERE)
        stack.enter_context(slept.held())
        slept.check()
        time.sleep(4)
        claim_of(store)
        with pytest.raises(Failure, match=r"was not renewed within 2 s: process 4711 on another holds it by now"):
            slept.check()
        with pytest.raises(Failure):
            slept.check()
    assert [each.said["process"] for each in claims(store, HERE)] == [4711]


def test_a_store_that_was_out_of_order_longer_than_a_lease_costs_nothing_where_nobody_else_came(store, monkeypatch):
    monkeypatch.setattr(leases, "LEASE", 1.0)
    monkeypatch.setattr(leases, "RENEWED", 3600.0)
    alone = Lease(HERE)
    with alone.held():
        time.sleep(2)
        alone.check()
        assert [each.said["process"] for each in claims(store, HERE)] == [os.getpid()]


def test_a_claim_that_can_not_be_read_holds_the_run_until_it_ends(store, monkeypatch):
    store.write("runs/study/.lock/other", b"\xff not JSON")
    with pytest.raises(BrittleError, match="in use"), Lease(HERE).held():
        pass
    monkeypatch.setattr(leases, "LEASE", 1.0)
    time.sleep(3)
    with Lease(HERE).held():
        pass
