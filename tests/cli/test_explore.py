"""The command `explore`: what it prints, how it ends, and what it says where it can't begin."""

import importlib.util
import json
import re
import signal
import socket
import urllib.request

import pytest
from explored_run import explored_run

from brittle.explorer import serve
from brittle.explorer.opened import OpenedRun


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return explored_run(tmp_path_factory.mktemp("explored") / "run")


@pytest.fixture
def image(folder):
    return OpenedRun(folder).described()["sets"][0]["images"][0]


def test_it_prints_an_address_answers_there_and_ends_quietly_when_interrupted(folder, start, ended, tmp_path):
    process = start("explore", folder, cwd=tmp_path)
    said = process.stdout.readline()
    address, token = re.fullmatch(r"explorer: (http://127\.0\.0\.1:\d+/)\?token=(\S{20,})\n", said).groups()
    request = urllib.request.Request(f"{address}api/run", headers={"X-Brittle-Token": token})
    with urllib.request.urlopen(request, timeout=60) as answer:
        assert len(json.load(answer)["classifiers"]) == 2
    process.send_signal(signal.SIGINT)
    assert ended(process) == (0, "", "")
    assert list(tmp_path.iterdir()) == []


def test_two_servers_have_two_tokens(folder):
    run = OpenedRun(folder)
    servers = [serve.explorer_server(run, folder / "cases.toml") for _ in range(2)]
    for each in servers:
        each.listening.close()
    assert servers[0].token != servers[1].token


def test_at_prints_what_classifiers_say_and_starts_no_server(folder, image, cli, monkeypatch):
    monkeypatch.setattr(serve, "explorer_server", None)
    address = f"http://127.0.0.1:1/?token=x#set=sample&image={image[0]}&nuisance=turned&theta=12.5&first=plain&second="
    said = cli("explore", folder, "--at", address)
    assert (said.status, said.err) == (0, "")
    assert said.out.startswith("plain (the label is ")
    shares = [float(each) for each in re.findall(r"^  (\d\.\d{6})  \S", said.out, re.MULTILINE)]
    assert len(shares) == 5
    assert shares == sorted(shares, reverse=True)


@pytest.mark.parametrize("wrong", ["set=sample", "theta=x", "set=sample&image=0.5&nuisance=turned&theta=1", "draw=1e9"])
def test_an_address_that_says_too_little_is_refused_in_a_line(folder, cli, wrong):
    assert cli("explore", folder, "--at", wrong).complaint(2)


def test_without_the_extra_one_line_says_what_to_install(folder, cli, monkeypatch):
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *more: None if name == "uvicorn" else found(name, *more)
    )
    complaint = cli("explore", folder).complaint(2)
    assert "the explorer needs the package 'uvicorn'" in complaint
    assert "pip install" in complaint
    assert "[explore]" in complaint


def test_a_folder_that_is_no_run_is_refused(tmp_path, cli):
    assert "is not a run folder" in cli("explore", tmp_path).complaint(2)


def test_listening_for_other_machines_warns_and_keeps_the_token(folder, cli, monkeypatch):
    here = socket.create_server(("127.0.0.1", 0))
    monkeypatch.setattr(serve, "_listening", lambda host, port: here)
    monkeypatch.setattr(serve.LocalServer, "run", lambda self: None)
    said = cli("explore", folder, "--host", "0.0.0.0")
    here.close()
    assert said.status == 0
    assert said.err.startswith("warning: 0.0.0.0 can be reached from other machines")
    assert "?token=" in said.out
    monkeypatch.setattr(serve, "_listening", lambda host, port: socket.create_server(("127.0.0.1", 0)))
    assert cli("explore", folder).err == ""


def test_a_port_that_is_taken_is_refused_in_a_line(folder, cli):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        complaint = cli("explore", folder, "--port", taken.getsockname()[1]).complaint(2)
    assert "can't be listened on" in complaint
