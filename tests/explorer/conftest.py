"""One run and one server for all tests of the explorer."""

import http.client
import json

import pytest
from explored_run import explored_run, serving


@pytest.fixture(scope="package")
def folder(tmp_path_factory):
    return explored_run(tmp_path_factory.mktemp("explorer") / "run")


@pytest.fixture(scope="package")
def server(folder):
    with serving(folder) as found:
        yield found


@pytest.fixture(scope="package")
def raw(server):
    """`raw("GET", path, content, **headers)`: the status, the headers and what is said; None takes a header away."""

    def call(method, path, content=None, **headers):
        host = server.origin.removeprefix("http://")
        connection = http.client.HTTPConnection(host, timeout=60)
        given = {"Host": host, "X-Brittle-Token": server.token}
        given |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        if content is not None:
            given.setdefault("Content-Length", str(len(content)))
        for name, value in given.items():
            if value is not None:
                connection.putheader(name, value)
        connection.endheaders(content)
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, answer.headers, text

    return call


@pytest.fixture(scope="package")
def ask(raw):
    """`ask("/api/run")` or, with a body, a question: the status and what is said."""

    def call(path, body=None, **headers):
        content = None if body is None else json.dumps(body).encode()
        status, _, text = raw("GET" if body is None else "POST", path, content, **headers)
        return status, json.loads(text)

    return call
