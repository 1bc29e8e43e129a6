"""Whom the server answers: nobody without its token, no other page, no path but its own, and never too much at once."""

import http.client
import json
import socket
import threading

import pytest

from brittle.explorer.security import BURST, MOST_BYTES, Buckets, hosts_of, is_loopback

QUERY = b'{"set": "sample", "nuisance": "turned", "theta": [5.0]}'
PATHS = ("/api/run", "/api/version", "/api/report")
QUESTIONS = ("image", "evaluate", "points", "gallery", "reproduce", "case", "map", "own")


@pytest.mark.parametrize("token", [None, "", "wrong", "ä"])
def test_nothing_of_the_run_is_told_without_the_token(raw, token):
    for path in PATHS:
        assert raw("GET", path, X_Brittle_Token=token)[0] == 401
    for name in QUESTIONS:
        status, _, text = raw("POST", f"/api/{name}", QUERY, X_Brittle_Token=token)
        assert status == 401
        assert b"sample" not in text


def test_the_token_is_not_taken_from_the_address_of_a_request(raw, server):
    assert raw("GET", f"/api/run?token={server.token}", X_Brittle_Token=None)[0] == 401


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:{port}", "127.0.0.1", "127.0.0.1:1", "", "localhost.evil:{port}"]
)
def test_another_host_name_is_refused(raw, server, host):
    named = host.format(port=server.origin.rpartition(":")[2])
    assert raw("GET", "/api/run", Host=named)[0] in (400, 403)
    assert raw("GET", "/", Host=named)[0] in (400, 403)


def test_the_names_of_this_machine_itself_are_taken(raw, server):
    port = server.origin.rpartition(":")[2]
    assert [raw("GET", "/", Host=f"{name}:{port}")[0] for name in ("127.0.0.1", "localhost", "[::1]")] == [200] * 3


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://127.0.0.1:1", "http://127.0.0.1", "file://"]
)
def test_another_page_is_refused(raw, origin):
    assert raw("GET", "/api/run", Origin=origin)[0] == 403
    assert raw("POST", "/api/evaluate", QUERY, Origin=origin)[0] == 403


def test_the_page_itself_is_answered(raw, server):
    assert raw("GET", "/api/run", Origin=server.origin, Sec_Fetch_Site="same-origin")[0] == 200
    assert raw("GET", "/api/run", Sec_Fetch_Site="cross-site")[0] == 403
    assert raw("GET", "/api/run", Sec_Fetch_Site="same-site")[0] == 403


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/..%2f..%2f..%2fetc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/....//etc/passwd",
        "//etc/passwd",
        "/web/../app.py",
        "/app.py",
        "/__init__.py",
        "/report/../study.toml",
        "/report/..%2fstudy.toml",
        "/report/x",
        "/api/../study.toml",
        "/index.html%00.js",
        "/study.toml",
        "/units",
        "/\\..\\..\\etc\\passwd",
        "/" + "a" * 5000,
    ],
)
def test_no_path_but_the_page_s_own_is_given(raw, path):
    status, _, text = raw("GET", path)
    assert status in (400, 401, 404)
    assert b"root:" not in text
    assert b"import" not in text


def test_other_methods_are_not_answered(raw):
    for method in ("PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT", "PATCH"):
        assert raw(method, "/api/run")[0] in (400, 404, 405)


def test_a_body_of_100_megabytes_is_refused_before_it_is_read(raw, server):
    status, _, text = raw("POST", "/api/own?set=sample", b"x" * 1000, Content_Length=str(100 << 20))
    assert status == 413
    assert "MB" in json.loads(text)["error"]
    assert raw("GET", "/api/run")[0] == 200


def test_a_body_that_does_not_say_how_long_it_is_ends_where_it_is_too_long(server, raw):
    """100 MB in chunks; the server may close the connection before all of it is sent."""
    connection = http.client.HTTPConnection(server.origin.removeprefix("http://"), timeout=60)
    connection.putrequest("POST", "/api/own?set=sample")
    connection.putheader("X-Brittle-Token", server.token)
    connection.putheader("Transfer-Encoding", "chunked")
    connection.endheaders()
    part, sent = b"100000\r\n" + b"x" * (1 << 20) + b"\r\n", 0
    try:
        for _ in range(100):
            connection.send(part)
            sent += 1 << 20
        connection.send(b"0\r\n\r\n")
        assert connection.getresponse().status == 413
    except (ConnectionError, http.client.HTTPException):
        assert sent > MOST_BYTES // 2
    connection.close()
    assert raw("GET", "/api/run")[0] == 200


def test_fifty_clients_at_once_are_served_or_refused(ask, server):
    statuses, wrong = [], []
    query = {"set": "sample", "nuisance": "turned", "classifiers": ["plain", "augmented"]}
    _, run = ask("/api/run")
    images = [each[0] for each in run["sets"][0]["images"]]
    gate = threading.Barrier(50)

    def client(number):
        gate.wait()
        for turn in range(4):
            try:
                place = (number + turn) % len(images)
                statuses.append(ask("/api/evaluate", query | {"image": images[place], "theta": [float(number)]})[0])
            except (OSError, http.client.HTTPException) as error:
                wrong.append(error)

    threads = [threading.Thread(target=client, args=(number,)) for number in range(50)]
    for each in threads:
        each.start()
    for each in threads:
        each.join(120)
    assert not wrong
    assert len(statuses) == 200
    assert set(statuses) <= {200, 429, 503}
    assert statuses.count(200) >= 50
    assert ask("/api/version")[0] in (200, 429)


def test_connections_that_say_nothing_keep_nobody_else_out(server, raw):
    host, port = server.origin.removeprefix("http://").split(":")
    idle = [socket.create_connection((host, int(port)), timeout=10) for _ in range(50)]
    assert raw("GET", "/")[0] == 200
    for each in idle:
        each.close()


@pytest.mark.parametrize("body", [b"{", b"[]", b"null", b"\xff", b"[" * 100_000, b'{"theta": 1e999}', b"{}"])
def test_bodies_that_are_no_question_are_refused(raw, body):
    for name in ("evaluate", "points", "gallery", "map", "case", "reproduce", "image"):
        status, _, text = raw("POST", f"/api/{name}", body)
        assert status in (200, 422)  # no gallery at all is an empty one
        assert b"Traceback" not in text


def test_every_answer_forbids_scripts_of_others_and_frames(raw):
    for path in ("/", "/main.js", "/api/run", "/nowhere"):
        _, headers, _ = raw("GET", path)
        policy = headers["Content-Security-Policy"]
        assert "default-src 'none'" in policy
        assert "script-src 'self';" in policy
        assert "frame-ancestors 'none'" in policy
        assert headers["X-Content-Type-Options"] == "nosniff"


def test_a_report_is_given_once_in_a_sandbox(raw, ask):
    uri = ask("/api/report")[1]["uri"]
    status, headers, text = raw("GET", f"/{uri}", X_Brittle_Token=None)
    assert status == 200
    assert b"<html" in text
    assert "sandbox" in headers["Content-Security-Policy"]
    assert "connect-src" not in headers["Content-Security-Policy"]
    assert raw("GET", f"/{uri}", X_Brittle_Token=None)[0] == 404


def test_an_address_that_asks_too_often_waits():
    now = [0.0]
    buckets = Buckets(rate=10, burst=5, clock=lambda: now[0])
    assert [buckets.take("a") for _ in range(7)] == [True] * 5 + [False] * 2
    assert buckets.take("b")
    now[0] = 0.25
    assert [buckets.take("a") for _ in range(3)] == [True, True, False]
    assert BURST >= 20


def test_hosts_that_only_this_machine_reaches_are_told_from_others():
    assert [is_loopback(each) for each in ("127.0.0.1", "localhost", "::1", "127.9.9.9")] == [True] * 4
    assert [is_loopback(each) for each in ("0.0.0.0", "192.168.0.5", "::", "example.org")] == [False] * 4
    assert hosts_of("192.168.0.5", 80) == {"192.168.0.5:80"}
    assert hosts_of("0.0.0.0", 80) is None
