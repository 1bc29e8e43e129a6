"""Classifiers behind a service: the same answers as in this process, whatever the service does to requests."""

import contextlib
import json
import re
import socket
import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import numpy as np
import pytest
import torch
import toy_service

from brittle.classifiers import classifier, classifiers
from brittle.classifiers.deferred import DeferredClassifier
from brittle.engine.hashes.object_hash import object_hash
from brittle.errors import BrittleError, BrittleWarning, Failure
from brittle.images import image_set
from brittle.types import AnswersLater, Classifier

DOCS = Path(__file__).parents[3] / "docs"


def warmed(service, images, **options):
    """The classifier once so many requests have been answered that trouble begins."""
    found = classifier(service.url, **options)
    found.check(images)
    while service.seen["posts"] < toy_service.TRIED:
        found.log_probs(images)
    return found


@pytest.mark.parametrize("troubles", [(), ("json",), ("batch=2",), ("range",)])
def test_a_service_answers_as_its_classifier_does_in_this_process(served, images, expected, troubles):
    found = classifier(served(*troubles).url)
    assert isinstance(found, Classifier)
    assert isinstance(found, AnswersLater)
    assert isinstance(found, DeferredClassifier)
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)
    assert torch.equal(found.submit(images)(), found.log_probs(images))
    assert (found.labels, found.named) == (("ant", "bee", "cat", "dog"), True)
    assert found.log_probs(images[:0]).shape == (0, 4)


def test_an_address_is_a_spec_by_itself(served, images):
    service = served()
    names = [repr(classifier(spec)) for spec in (service.url, f"http:{service.url}/")]
    assert len(set(names)) == 1
    assert classifiers.build(f"{service.url},timeout=5,batch=2").timeout == 5


def test_requests_have_as_many_images_as_the_service_or_the_option_allows(served, images):
    service = served("batch=5")
    classifier(service.url).log_probs(images)
    assert sorted(service.seen["sizes"]) == [2, 5]
    classifier(service.url, batch=3).log_probs(images)
    assert sorted(service.seen["sizes"][2:]) == [1, 3, 3]


def test_answers_stay_with_their_images_in_whatever_order_they_come(served, images, expected):
    service = served("slow")
    found = warmed(service, images)
    pending = [found.submit(images[[row]]) for row in [*range(7)] * 3]
    said = torch.cat([each() for each in reversed(pending)]).flip(0)
    assert torch.allclose(said.double(), expected.repeat(3, 1), rtol=0, atol=1e-6)
    assert service.seen["most"] > 1


def test_images_may_be_changed_once_they_are_submitted(served, images, expected):
    found = classifier(served("wait=0.2").url)
    found.check(images)
    given = images.clone()
    pending = found.submit(given)
    given.zero_()
    assert torch.allclose(pending().double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize("concurrency", [1, 3])
def test_no_more_requests_are_on_their_way_than_asked_for(served, images, concurrency):
    service = served("wait=0.05")
    found = classifier(service.url, concurrency=concurrency)
    found.check(images)
    for pending in [found.submit(images) for _ in range(9)]:
        pending()
    assert service.seen["most"] == concurrency


def test_a_service_that_fails_for_a_while_is_asked_again(served, images, expected):
    service = served("500=2")
    found = warmed(service, images)
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)
    assert service.seen["refused"] == 2


def test_a_service_is_left_alone_as_long_as_it_asks(served, images, expected):
    service = served("429=1")
    found = warmed(service, images)
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)
    assert service.seen["refused"] == 1
    assert service.seen["left alone"] > 0.9  # Retry-After: 1; the first wait of its own accord is half as long


def test_a_request_that_is_not_answered_in_time_is_sent_again(served, images, expected):
    found = warmed(served("silent=1"), images, timeout=1.0)
    assert torch.allclose(found.log_probs(images).double(), expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("trouble", "said"),
    [
        ("500=99", r"answers 500 \(out of order\) \(tried 2 times\)\. See whether it is running"),
        ("silent=99", r"did not answer within 1 s \(tried 2 times\)"),
        ("drip", r"did not answer within 1 s \(tried 2 times\)"),
        ("half", r"closed the connection in the middle of an answer \(tried 2 times\)"),
        ("huge", r"answers with more than [\d,]+ bytes, which no scores"),
        ("shape", r"gave outputs of 7×3 for 7 images, not 7×4"),
        ("objects", r"its answer is an array of object, not of floats"),
        ("die=1", r"(can't be reached \(Connection refused\)|closed the connection before it had answered)"),
    ],
)
def test_trouble_that_does_not_end_is_one_line(served, images, trouble, said):
    found = warmed(served(trouble), images, timeout=1.0, retries=1)
    with pytest.raises(Failure, match=said) as caught:
        found.log_probs(images)
    assert "\n" not in str(caught.value)


def test_a_service_that_is_not_there_is_one_line(served):
    service = served()
    service.kill()
    with pytest.raises(Failure, match=r"can't be reached \(Connection refused\) \(tried 3 times\)"):
        classifier(service.url)


def test_redirects_are_not_followed(served, images):
    with pytest.raises(BrittleError, match=r"sends requests on to http://127\.0\.0\.1:9/None\. Give that address if"):
        classifier(served("redirect").url).log_probs(images)


def test_images_of_another_shape_are_refused_with_what_to_give(served):
    url = served().url
    with pytest.raises(BrittleError, match=r"takes 1×8×8 but gets images of 3×16×16. Give channels=grey,size=8x8"):
        classifier(url).log_probs(torch.rand(2, 3, 16, 16))
    assert classifier(url, size="8x8", channels="grey").log_probs(torch.rand(2, 3, 16, 16)).shape == (2, 4)


def test_what_does_not_say_what_its_classifier_is_is_refused():
    answers = [b"hello", b"[1]", b'{"classes": 1, "output": "logits"}', b'{"classes": 4}', b"{" * 100_000]
    answers.append(json.dumps({"classes": 4, "output": "logits", "range": float("nan")}).encode())

    class Odd(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(answers[0])

        def log_message(self, *_):
            pass

    with HTTPServer(("127.0.0.1", 0), Odd) as server:
        server.timeout = 10
        url = f"http://127.0.0.1:{server.server_address[1]}"
        for why in ("not JSON", "not a JSON object", "classes: ", "output: Field required", "not JSON", "range: "):
            thread = threading.Thread(target=server.handle_request)
            thread.start()
            with pytest.raises(BrittleError, match=f"does not say what its classifier is .*{why}"):
                classifier(url)
            thread.join()
            answers.pop(0)


@pytest.mark.parametrize(
    ("url", "said"),
    [
        ("http:localhost:8000", "is not the address of a service. Write http:https://host/path"),
        ("http:ftp://host/", "is not the address of a service"),
        ("http://", "is not the address of a service"),
        ("http://host:99999", "is not an address"),
        ("https://host/path?key=abc", "has no query and no fragment: https://host/path…"),
        ("https://host/a b", "is not the address of a service"),
    ],
)
def test_a_wrong_address_is_one_line(url, said):
    with pytest.raises(BrittleError, match=re.escape(said)) as caught:
        classifier(url)
    assert "abc" not in str(caught.value)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"timeout": 0}, "timeout"),
        ({"concurrency": 0}, "concurrency"),
        ({"protocol": "v3"}, "protocol"),
        ({"protocol": "v2"}, "Give model=NAME"),
        ({"model": "a"}, "Give protocol=v2 as well"),
    ],
)
def test_a_wrong_option_is_one_line(options, said):
    with pytest.raises(BrittleError, match=said):
        classifier("http://127.0.0.1:9", **options)


def test_two_services_are_two_classifiers_to_a_run(served):
    first, second = served().url, served().url
    hashes = [object_hash(classifier(url)).value for url in (first, first, second)]
    assert hashes[0] == hashes[1] != hashes[2]


def test_a_long_wait_is_mentioned_once(served, images, monkeypatch):
    monkeypatch.setattr("brittle.classifiers.service.client.WORTH_SAYING", 0.1)
    found = warmed(served("500=3"), images)
    with pytest.warns(BrittleWarning, match=r"answers 500 \(out of order\); it is asked again") as told:
        found.log_probs(images)
    assert sum(issubclass(each.category, BrittleWarning) for each in told) == 1


def test_connections_are_kept(served, images):
    found = classifier(served().url)
    found.check(images)
    kept = found.client._idle.get_nowait()
    port = kept.sock.getsockname()[1]
    found.client._idle.put(kept)
    found.log_probs(images)
    assert found.client._idle.get_nowait().sock.getsockname()[1] == port


def test_float64_scores_keep_their_digits(images):
    class Double(DeferredClassifier):
        def begin(self, prepared):
            row = torch.tensor([1 - 1e-60, 1e-60], dtype=torch.float64).repeat(len(prepared), 1)
            return lambda: row

    found = Double().submit(images)()
    assert found.dtype == torch.float32
    assert found[0, 1] == pytest.approx(-60 * np.log(10), rel=1e-6)


def test_the_server_of_the_documentation_serves_what_it_says(images):
    """With a port of its own choice; `docs/http.md` shows the file as it is."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with subprocess.Popen([sys.executable, str(DOCS / "serve.py"), str(port)]) as process:
        try:
            here, there = classifier("bundled:plain"), None
            pictures = image_set("sample").batch(list(range(20))).in_numbers().images
            while there is None and process.poll() is None:
                with contextlib.suppress(Failure):  # until it listens
                    there = classifier(f"http://127.0.0.1:{port}")
            assert torch.allclose(there.log_probs(pictures), here.log_probs(pictures), rtol=0, atol=1e-6)
            assert there.labels == here.labels
        finally:
            process.kill()
    assert (DOCS / "serve.py").read_text(encoding="utf-8") in (DOCS / "http.md").read_text(encoding="utf-8")
