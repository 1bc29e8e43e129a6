"""The labelling page's server: whom it answers, what it shows, and what it keeps."""

import http.client
import json

import pytest
import torch
from cns_folder import CLASSES, SCALES, SEEDS, SHIFTS, make
from labelled_benchmark import labelling

import brittle
from brittle.generation.labels.store import read_labeller
from brittle.labelling.session import examples_of


@pytest.fixture
def benchmark(tmp_path):
    return make(tmp_path / "generated")


@pytest.fixture
def server(benchmark, tmp_path):
    with labelling(benchmark, tmp_path / "labels") as found:
        yield found


def ask(server, path, body=None, **headers):
    """The status and what is said; None takes a header away."""
    host = server.origin.removeprefix("http://")
    connection = http.client.HTTPConnection(host, timeout=60)
    content = None if body is None else json.dumps(body).encode()
    given = {"Host": host, "X-Brittle-Token": server.token}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(
        "GET" if body is None else "POST",
        path,
        content,
        {key: value for key, value in given.items() if value is not None},
    )
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    return answer.status, text if body is None else json.loads(text)


@pytest.mark.parametrize("token", [None, "", "wrong"])
def test_nothing_is_told_or_kept_without_the_token(server, tmp_path, token):
    for path in ("next", "answer", "back"):
        question = {"person": "anna", "image": "example:1", "label": "class"}
        status, said = ask(server, f"/api/{path}", question, X_Brittle_Token=token)
        assert status == 401
        assert "`brittle label`" in said["error"]
    assert list((tmp_path / "labels").iterdir()) == []


def test_another_page_is_refused(server):
    assert ask(server, "/api/next", {"person": "anna"}, Origin="https://evil.example")[0] == 403
    assert ask(server, "/api/next", {"person": "anna"}, Host="evil.example")[0] == 403


@pytest.mark.parametrize("path", ["/../../etc/passwd", "/labels/anna.jsonl", "/app.py", "/web/index.html"])
def test_no_path_but_the_pages_own_is_given(server, path):
    assert ask(server, path)[0] in (401, 404)
    assert ask(server, "/")[0] == 200


def test_images_come_with_their_class_and_answers_are_kept(server, tmp_path):
    _, first = ask(server, "/api/next", {"person": "anna"})
    assert (first["item"]["example"], first["item"]["class"]) == (True, CLASSES[1])
    assert first["item"]["uri"].startswith("data:image/png;base64,")
    answer = {"person": "anna", "image": "example:1", "label": "class", "shift_visible": None}
    _, second = ask(server, "/api/answer", answer)
    assert not second["item"]["example"]
    assert second["item"]["example_uri"] == first["item"]["uri"]
    kept = read_labeller(tmp_path / "labels" / "anna.jsonl")
    assert {image: each.label for image, each in kept.answers.items()} == {"example:1": "class"}


def answered(server, person, label="class", visible=True):
    """Labels everything, and returns the images in the order in which they came."""
    _, said = ask(server, "/api/next", {"person": person})
    images = []
    while said["item"] is not None:
        images.append(said["item"]["image"])
        shift_visible = visible if said["item"]["ask_shift"] else None
        question = {"person": person, "image": images[-1], "label": label, "shift_visible": shift_visible}
        status, said = ask(server, "/api/answer", question)
        assert status == 200, said
    return images


def test_two_people_label_everything_and_a_third_nothing(server, benchmark, tmp_path):
    first, second = answered(server, "anna"), answered(server, "ben", "partly", visible=False)
    assert first == second
    assert len(first) == 1 + len(CLASSES) * len(SEEDS) * (1 + len(SHIFTS) * (len(SCALES) - 1))
    assert answered(server, "carl") == ["example:1"]  # examples are for everybody
    found = brittle.labels_of(benchmark, tmp_path / "labels")
    assert found.by_two == found.images == len(first) - 1
    assert {each.scale: each.shift_visible.value for each in found.scales if each.scale} == dict.fromkeys(
        SCALES[1:], 0.5
    )


def test_an_interrupted_afternoon_goes_on_where_it_stopped(benchmark, tmp_path):
    with labelling(benchmark, tmp_path / "labels") as server:
        whole = [answer["item"]["image"] for answer in [ask(server, "/api/next", {"person": "anna"})[1]]]
        for _ in range(4):
            _, said = ask(server, "/api/next", {"person": "anna"})
            visible = True if said["item"]["ask_shift"] else None
            question = {"person": "anna", "image": said["item"]["image"], "label": "class", "shift_visible": visible}
            whole.append(ask(server, "/api/answer", question)[1]["item"]["image"])
    with labelling(benchmark, tmp_path / "labels") as server:
        _, said = ask(server, "/api/next", {"person": "anna"})
    assert said["item"]["image"] == whole[-1]
    assert said["labelled"] == 4


def test_one_can_go_back_and_answer_again(server, tmp_path):
    _, first = ask(server, "/api/next", {"person": "anna"})
    image = first["item"]["image"]
    _, second = ask(server, "/api/answer", {"person": "anna", "image": image, "label": "class"})
    _, before = ask(server, "/api/back", {"person": "anna", "image": second["item"]["image"]})
    assert before["item"]["image"] == image
    assert before["item"]["answer"] == {"label": "class", "shift_visible": None}
    _, again = ask(server, "/api/answer", {"person": "anna", "image": image, "label": "not"})
    assert again["item"]["image"] == second["item"]["image"]
    assert read_labeller(tmp_path / "labels" / "anna.jsonl").answers[image].label == "not"
    assert ask(server, "/api/back", {"person": "anna", "image": image})[0] == 422


@pytest.mark.parametrize(
    "question",
    [
        {"person": "anna", "image": "example:1", "label": "perhaps"},
        {"person": "anna", "image": "../../etc/passwd", "label": "class"},
        {"person": "../anna", "image": "example:1", "label": "class"},
        {"person": 3, "image": "example:1", "label": "class"},
        {"person": "anna", "image": "example:1", "label": "class", "shift_visible": "yes"},
        {"image": "example:1", "label": "class"},
        [],
    ],
)
def test_what_is_no_answer_is_refused_in_one_line(server, tmp_path, question):
    status, said = ask(server, "/api/answer", question)
    assert status == 422
    assert "\n" not in said["error"]
    assert not any(each.read_text().count("\n") > 1 for each in (tmp_path / "labels").glob("*"))


def test_the_second_question_is_asked_of_shifted_images_alone(benchmark, tmp_path):
    with labelling(benchmark, tmp_path / "labels") as server:
        shifted = f"{SHIFTS[0]}/001_goldfish/seed_0003_scale_1000.jpg"
        question = {"person": "anna", "image": shifted, "label": "class"}
        status, said = ask(server, "/api/answer", question)
        assert (status, "was not answered" in said["error"]) == (422, True)
        assert ask(server, "/api/answer", question | {"shift_visible": False})[0] == 200
    with labelling(benchmark, tmp_path / "labels", ask_shift=False) as server:
        assert ask(server, "/api/answer", question)[0] == 200


def test_examples_match_by_name_or_else_by_number():
    pictures, labels = torch.rand(3, 1, 8, 8), torch.tensor([2, 0, 2])
    named = brittle.image_set((pictures, labels), classes=("Ankle boot", "bag", "shirt"))
    found = examples_of(named, {5: "shirt", 9: "ankle_boot", 7: "unknown"})
    assert found.keys() == {5, 9}
    assert torch.equal(found[5], pictures[0])
    assert torch.equal(found[9], pictures[1])
    numbered = brittle.image_set((pictures, labels))
    assert torch.equal(examples_of(numbered, {2: "anything"})[2], pictures[0])
