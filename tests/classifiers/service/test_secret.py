"""A service's secret comes from the environment and appears nowhere but in the request's header."""

import pickle
import shutil
import ssl
import subprocess
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import ClassVar

import pytest

from brittle.classifiers import classifier
from brittle.classifiers.service.address import Address, Secret
from brittle.errors import BrittleError

SECRET = "s3cret-0f-the-service"
needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
HERE = Address.of("http://127.0.0.1:8000")


@pytest.fixture
def secret(monkeypatch):
    monkeypatch.setenv("BRITTLE_TOKEN", f"{SECRET}\n")
    return SECRET


def test_the_secret_goes_with_every_request(served, images, secret):
    service = served()
    classifier(service.url, token_env="BRITTLE_TOKEN").log_probs(images)
    assert set(service.seen["authorization"]) == {f"Bearer {secret}"}


def test_the_secret_may_have_a_header_of_its_own(secret):
    assert Secret("BRITTLE_TOKEN", "X-API-Key", HERE).header() == ("X-API-Key", secret)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("echo", "answers 401 .no access for Bearer ….. It asks for a secret: see what BRITTLE_TOKEN holds"),
        ("redirect", "sends requests on to http://127.0.0.1:9/Bearer …"),
        ("tells-token", "repeats its secret"),
    ],
)
def test_a_service_that_repeats_the_secret_does_not_bring_it_into_messages(served, images, secret, trouble, said):
    with pytest.raises(BrittleError, match=said) as caught:
        classifier(served(trouble).url, token_env="BRITTLE_TOKEN").log_probs(images)
    assert secret not in f"{caught.value!r} {caught.value.__cause__!r} {caught.value.__context__!r}"


def test_the_secret_is_neither_shown_nor_pickled(secret):
    held = Secret("BRITTLE_TOKEN", "Authorization", HERE)
    assert secret not in repr(held)
    with pytest.raises(TypeError):
        pickle.dumps(held)


@pytest.mark.parametrize("value", ["two words", "line\nline", "smørrebrød", "a\x00b"])
def test_what_is_no_secret_is_refused_without_showing_it(monkeypatch, value):
    monkeypatch.setattr("os.environ", {"BRITTLE_TOKEN": value})
    with pytest.raises(BrittleError, match="can't be sent") as caught:
        Secret("BRITTLE_TOKEN", "Authorization", HERE)
    assert value not in str(caught.value)


@pytest.mark.parametrize("variable", ["AWS_SECRET_ACCESS_KEY", "PATH", "BRITTLE_", "brittle_token", "BRITTLE_A\n"])
def test_a_study_can_not_send_any_variable_it_likes(monkeypatch, variable):
    monkeypatch.setattr("os.environ", {variable: "a-secret"})
    with pytest.raises(BrittleError, match=r"may be sent to a service. Its name must begin with BRITTLE_"):
        Secret(variable, "Authorization", HERE)


def test_a_variable_that_is_not_set_is_one_line():
    with pytest.raises(BrittleError, match=r"BRITTLE_NOWHERE is not set, and http://127.0.0.1:8000 asks"):
        Secret("BRITTLE_NOWHERE", "Authorization", HERE)


@pytest.mark.parametrize("host", ["example.org", "10.0.0.3", "127.0.0.1.example.org", "localhost.example.org"])
def test_a_secret_does_not_travel_for_all_to_read(secret, host):
    with pytest.raises(BrittleError, match=r"for all to read. Use an https:// address"):
        classifier(f"http://{host}/", token_env="BRITTLE_TOKEN")


def test_a_header_of_several_lines_is_refused(secret):
    with pytest.raises(BrittleError, match="not the name of a header"):
        Secret("BRITTLE_TOKEN", "X-A: b\r\nX-B", HERE)


@pytest.mark.parametrize("url", ["http://me:word@127.0.0.1:8000/", "http://word@127.0.0.1/"])
def test_a_password_in_an_address_is_refused_without_showing_it(url):
    with pytest.raises(BrittleError, match="give token-env=") as caught:
        classifier(url)
    assert "word@" not in str(caught.value)


class Secure(BaseHTTPRequestHandler):
    asked: ClassVar[list[str]] = []

    def do_GET(self):
        self.asked.append(self.headers["Authorization"])
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"classes": 4, "output": "logits"}')

    def log_message(self, *_):
        pass


@pytest.fixture
def secure(tmp_path):
    """The address of a server that is asked once over TLS, whose certificate nobody has signed but itself."""
    certificate = ("-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost")
    files = ("-keyout", tmp_path / "key.pem", "-out", tmp_path / "cert.pem")
    made = ("openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "1", *certificate, *files)
    subprocess.run(made, check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(tmp_path / "cert.pem", tmp_path / "key.pem")
    with HTTPServer(("127.0.0.1", 0), Secure) as server:
        server.timeout, server.handle_error = 10, lambda *_: None
        server.socket = context.wrap_socket(server.socket, server_side=True)
        Secure.asked.clear()
        thread = threading.Thread(target=server.handle_request)
        thread.start()
        yield f"https://localhost:{server.server_address[1]}"
        thread.join()


@needs_openssl
def test_a_certificate_that_nobody_vouches_for_is_refused_before_the_secret_is_sent(secure, secret):
    with pytest.raises(BrittleError, match=r"certificate of .* can't be verified: self-signed certificate"):
        classifier(secure, token_env="BRITTLE_TOKEN")
    assert Secure.asked == []


@needs_openssl
def test_an_authority_of_ones_own_can_vouch(secure, secret, tmp_path, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "cert.pem"))
    assert classifier(secure, token_env="BRITTLE_TOKEN").protocol.facts.classes == 4
    assert Secure.asked == [f"Bearer {secret}"]
