"""Files and functions that are not classifiers by themselves are answered with what to type, and never run."""

from pathlib import Path

import pytest
import torch

import brittle
from brittle.classifiers import classifier, classifiers
from brittle.errors import BrittleError, BrittleWarning

RANDOM = "from torch import nn\ndef make(): return nn.Sequential(nn.Flatten(), nn.Linear(784, 10))\n"
PROGRAM = "a program that would run when loaded. If you trust it, name a function that returns"


@pytest.fixture
def folder(tmp_path, network, monkeypatch):
    """Weights, TorchScript, an exported program and other people's formats, beside which the user stands."""
    monkeypatch.chdir(tmp_path)
    torch.save(network.state_dict(), "a.pt")
    torch.jit.trace(network, torch.zeros(1, 1, 8, 8)).save("script.pt")
    batch = torch.export.Dim("batch", min=1, max=4096)
    torch.export.save(
        torch.export.export(network, (torch.zeros(2, 1, 8, 8),), dynamic_shapes=({0: batch},)), "program.pt2"
    )
    for name in ("w.safetensors", "w.pth", "m.pkl", "m.h5", "notes.txt", "net.py"):
        Path(name).write_bytes(b"")
    Path("load.py").write_text(
        "import torch\n"
        "def script(): return torch.jit.load('script.pt')\n"
        "def program(): return torch.export.load('program.pt2').module()\n"
    )
    return tmp_path


@pytest.mark.parametrize(
    ("file", "said"),
    [
        ("a.pt", "a.pt holds weights, not the network that they belong to. Name a function that makes the network too: "
         "torch:net.py:make,weights=a.pt."),
        ("w.pth", "torch:net.py:make,weights=w.pth."),
        ("w.safetensors", "torch:net.py:make,weights=w.safetensors."),
        ("script.pt", f"script.pt is TorchScript, {PROGRAM} torch.jit.load('script.pt'): torch:file.py:function."),
        ("program.pt2", f"is an exported program, {PROGRAM} torch.export.load('program.pt2').module(): torch:file.py:"),
        ("m.pkl", "would run code when loaded, so it is refused. Name a function that returns the estimator: sklearn:"),
        ("m.h5", "Export it to ONNX: onnx:model.onnx."),
        ("b.pt", "there is no file b.pt. Did you mean 'a.pt'?"),
    ],
)  # fmt: skip
def test_a_model_file_alone_is_answered_with_what_to_type(file, said, folder, monkeypatch):
    for load in ("torch.load", "torch.jit.load", "torch.export.load"):
        monkeypatch.setattr(load, None)
    for what in (file, f"{file},size=8", Path(file), f"./{file}"):
        with pytest.raises(BrittleError) as caught:
            classifier(what)
        assert said.replace(file, "…") in str(caught.value).replace("./", "").replace(file, "…")
        assert "\n" not in str(caught.value)
    with pytest.raises(BrittleError):
        classifiers.check(file)


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("torch:a.pt", "weights=a.pt."),
        ("torch:net.py:make,weights=script.pt", "script.pt is TorchScript"),
        ("torch:net.py:make,weights=program.pt2", "program.pt2 is an exported program"),
        ("net.py", "Write torch:net.py:name for a network or a function that makes one, python:net.py:name for a"),
        ("net.py:make", "Write torch:net.py:make for a network or a function that makes one, python:net.py:make for a"),
        ("net:make", "Write torch:net:make for a network or a function that makes one, python:net:make for a function"),
        ("package.net:make", "Write torch:package.net:make for a network"),
    ],
)
def test_what_is_nearly_a_spec_is_answered_with_the_spec(spec, said, folder):
    Path("net.py").write_text(RANDOM)
    with pytest.raises(BrittleError) as caught:
        classifier(spec)
    assert said in str(caught.value)


def test_what_the_answers_say_works(folder, network, images):
    expected = classifier(network).log_probs(images)
    for function in ("script", "program"):
        torch.testing.assert_close(classifier(f"torch:load.py:{function}").log_probs(images), expected)
    with pytest.raises(BrittleError, match=r"Give its module: program\.module\(\)"):
        classifier(torch.export.load("program.pt2"))


class WithLogits:
    def __init__(self, logits):
        self.logits = logits


@pytest.mark.parametrize("form", [lambda z: z, lambda z: z.numpy(), lambda z: z.tolist(), WithLogits])
def test_a_function_may_return_scores_in_several_forms(form, images):
    found = classifier(lambda x: form(x.flatten(1)[:, :4])).log_probs(images)
    torch.testing.assert_close(found, images.flatten(1)[:, :4].log_softmax(1))


@pytest.mark.parametrize(
    ("form", "returned"),
    [
        (lambda z: {"logits": z, "features": z}, "a dictionary of 'logits', 'features'"),
        (lambda z: {}, "a dictionary of nothing"),
        (lambda z: (z, 3), "a tuple of 2"),
        (lambda z: [z, z], "a list of 2"),
        (lambda z: None, "an object of type NoneType"),
    ],
)
def test_what_is_not_scores_is_answered_with_what_to_return(form, returned, images):
    class Net(torch.nn.Module):
        def forward(self, x):
            return form(x.flatten(1)[:, :4])

    for what in (lambda x: form(x.flatten(1)[:, :4]), Net()):
        with pytest.raises(BrittleError) as caught:
            classifier(what).log_probs(images)
        assert f"returns {returned}, not scores. Return the scores alone, (images, classes)" in str(caught.value)


def test_a_network_without_weights_is_said_to_be_random(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("random_net.py").write_text(RANDOM)
    with pytest.warns(BrittleWarning) as caught:
        found = brittle.measure("torch:random_net.py:make", "sample", "affine", count=20, samples=2)
    said = (
        "the classifier 'classifier' has random weights: random_net.py:make makes others each time; weights=… loads a "
        "file of them"
    )
    assert said in found["warnings"]
    assert said in [str(each.message) for each in caught]


@pytest.mark.parametrize("body", ["torch.manual_seed(0)", "net.load_state_dict(torch.load('w.pt'))"])
def test_a_network_with_weights_of_its_own_is_not(body, tmp_path, monkeypatch, network):
    monkeypatch.chdir(tmp_path)
    make = "    net = torch.nn.Linear(4, 3)\n"
    body = f"    {body}\n{make}" if "seed" in body else f"{make}    {body}\n"
    Path("fixed_net.py").write_text(f"import torch\ndef make():\n{body}    return net\n")
    torch.save(torch.nn.Linear(4, 3).state_dict(), "w.pt")
    assert classifier("torch:fixed_net.py:make").remarks == ()
    Path("plain_net.py").write_text("import torch\ndef make(): return torch.nn.Linear(4, 3)\n")
    assert classifier("torch:plain_net.py:make").remarks
    assert classifier("torch:plain_net.py:make,weights=w.pt").remarks == ()
