"""torch modules, by object and by spec, and checkpoints that may not run code."""

import os
import pickle
import sys

import pytest
import torch
from safetensors.torch import save_file
from torch import nn

from brittle.classifiers import classifier
from brittle.errors import BrittleError
from brittle.types import Differentiable, Layered

USER_FILE = """
import torch
from torch import nn

def network():
    torch.manual_seed(int.from_bytes(__import__("os").urandom(2), "little"))
    return nn.Sequential(nn.Conv2d(1, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5))

ready = network()
number = 3

def needs_argument(width):
    return nn.Linear(width, 2)

def remembers(**given):
    module = nn.Linear(2, 2)
    module.given = given
    return module
"""


@pytest.fixture
def user_file(tmp_path):
    path = tmp_path / "my_models.py"
    path.write_text(USER_FILE)
    return path


def test_a_module_gives_its_log_softmax_and_stays_in_evaluation_mode(network, images):
    expected = network(images).log_softmax(1)
    found = classifier(network.train())
    assert torch.allclose(found.log_probs(images), expected, atol=1e-6)
    assert not network.training
    assert found.can == frozenset()
    assert isinstance(found, Differentiable)
    assert isinstance(found, Layered)


def test_gradients_agree_with_finite_differences(network, images):
    found = classifier(network.double(), mean=0.3, std=0.2)
    image, step = images[:1].double(), 1e-3
    with torch.inference_mode():
        found.check(image)
    leaf = image.clone().requires_grad_()
    found.log_probs(leaf)[0, 2].backward()
    for row, column in ((0, 0), (3, 4), (7, 7)):
        nudge = torch.zeros_like(image)
        nudge[0, 0, row, column] = step
        rise = found.log_probs(image + nudge)[0, 2] - found.log_probs(image - nudge)[0, 2]
        assert leaf.grad[0, 0, row, column].item() == pytest.approx(rise.item() / (2 * step), abs=2e-3)


def test_colour_images_through_channels_last_keep_their_values():
    network = nn.Sequential(nn.Conv2d(3, 8, 3), nn.ReLU(), nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 4))
    images = torch.rand(3, 3, 9, 11)
    expected = network(images).log_softmax(1)
    assert torch.allclose(classifier(network).log_probs(images), expected, atol=1e-6)


def test_an_output_object_with_logits_is_understood(network, images):
    class Wrapped(nn.Module):
        def __init__(self):
            super().__init__()
            self.inner = network

        def forward(self, x):
            return type("Output", (), {"logits": self.inner(x)})()

    assert torch.allclose(classifier(Wrapped()).log_probs(images), network(images).log_softmax(1), atol=1e-6)


@pytest.mark.parametrize("wrap", ["plain", "state_dict", "model_state_dict", "model", "net", "module."])
@pytest.mark.parametrize("suffix", [".safetensors", ".pt", ".pth"])
def test_a_factory_in_a_users_file_with_weights(user_file, network, images, suffix, wrap):
    weights = {key: value.clone() for key, value in network.state_dict().items()}
    path = user_file.with_name("weights" + suffix)
    if wrap == "module.":
        weights = {"module." + key: value for key, value in weights.items()}
    if suffix == ".safetensors":
        save_file(weights, path)
    else:
        torch.save(weights if wrap in ("plain", "module.") else {wrap: weights, "epoch": 3}, path)
    found = classifier(f"torch:{user_file}:network,weights={path}")
    assert torch.allclose(found.log_probs(images), network(images).log_softmax(1), atol=1e-6)


def test_a_checkpoint_without_weights_is_refused_with_what_it_holds(user_file, tmp_path):
    torch.save({"epoch": 3, "best": 0.5}, tmp_path / "w.pt")
    with pytest.raises(BrittleError, match=r"the checkpoint holds no state dict: only 'epoch', 'best'\. Save"):
        classifier(f"torch:{user_file}:network,weights={tmp_path}/w.pt")


def test_a_factory_is_called_with_arguments(user_file):
    made = classifier(f"torch:{user_file}:remembers,arguments=width=3/share=0.5/deep=false/name=a b/rate=none").module
    assert made.given == {"width": 3, "share": 0.5, "deep": False, "name": "a b", "rate": None}
    assert type(made.given["width"]) is int


def test_a_module_in_the_current_directory_is_importable(user_file, monkeypatch, images):
    monkeypatch.chdir(user_file.parent)
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry not in ("", os.getcwd())])
    user_file.rename(user_file.with_name("brittle_test_models.py"))
    found = classifier("torch:brittle_test_models:ready")
    assert found.log_probs(images).shape == (7, 5)
    with pytest.raises(BrittleError, match=r"no module 'brittle_test_model'\. Did you mean 'brittle_test_models'"):
        classifier("torch:brittle_test_model:ready")


class Payload:
    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return os.mkdir, (str(self.path),)


@pytest.mark.parametrize("writer", ["torch", "pickle"])
def test_a_checkpoint_that_would_run_code_is_refused_and_runs_nothing(user_file, tmp_path, writer):
    path, trace = tmp_path / "evil.pt", tmp_path / "it ran"
    if writer == "torch":
        torch.save({"state_dict": Payload(trace)}, path)
    else:
        path.write_bytes(pickle.dumps(Payload(trace), protocol=2))
    with pytest.raises(BrittleError, match=r"evil\.pt .*refused.*save_file\(model\.state_dict\(\)") as caught:
        classifier(f"torch:{user_file}:network,weights={path}")
    assert not trace.exists()
    assert caught.value.exit_status == 2
    assert "\n" not in str(caught.value)


def test_a_whole_pickled_network_is_refused(user_file, network, tmp_path):
    torch.save(network, tmp_path / "whole.pt")
    with pytest.raises(BrittleError, match="would run code"):
        classifier(f"torch:{user_file}:network,weights={tmp_path / 'whole.pt'}")


@pytest.mark.parametrize("suffix", [".safetensors", ".pt"])
@pytest.mark.parametrize("content", [b"", b"not a checkpoint at all", b"PK\x03\x04 torn off"])
def test_a_file_that_is_no_checkpoint_is_one_line(user_file, tmp_path, suffix, content):
    path = tmp_path / ("junk" + suffix)
    path.write_bytes(content)
    with pytest.raises(BrittleError, match="junk") as caught:
        classifier(f"torch:{user_file}:network,weights={path}")
    assert "\n" not in str(caught.value)
    assert "refused" not in str(caught.value)


def test_weights_that_do_not_fit_name_what_is_missing(user_file, network, tmp_path):
    weights = network.state_dict()
    weights["extra"] = weights.pop("3.bias")
    torch.save(weights, tmp_path / "w.pt")
    with pytest.raises(BrittleError, match=r"it lacks 3\.bias and it also holds extra"):
        classifier(f"torch:{user_file}:network,weights={tmp_path / 'w.pt'}")
    torch.save({**network.state_dict(), "3.bias": torch.zeros(6)}, tmp_path / "w.pt")
    with pytest.raises(BrittleError, match=r"3\.bias is \(6,\) there and \(5,\) here"):
        classifier(f"torch:{user_file}:network,weights={tmp_path / 'w.pt'}")


@pytest.mark.parametrize(
    ("target", "message"),
    [
        ("{file}:netwrok", "has no 'netwrok'. Did you mean 'network'"),
        ("{folder}/my_model.py:network", "no file .*Did you mean '.*my_models.py'"),
        ("{file}", "doesn't name anything.*package.module:name"),
        ("{file}:number", "of type int, not a torch.nn.Module"),
        ("{file}:needs_argument", "TypeError.*without arguments"),
        ("{file}:needs_argument,arguments=width", "'width' is not an argument. Write name=value"),
        ("{file}:needs_argument,arguments=wide=3", "TypeError.*Give the arguments it takes"),
        ("{file}:ready,arguments=width=3", "is not a function and takes no arguments"),
        ("brittle.classifiers.bundle:SmallNet", "Did you mean 'brittle.classifiers.bundled'"),
        ("{folder}/broken.py:network", "broken.py can't be imported: ZeroDivisionError: division by zero"),
        ("{file}:network,weights=none.pt", "no file none.pt. Check the path"),
        ("{file}:network,weights={file}", "not a kind of weights file"),
    ],
)
def test_what_can_not_be_found_is_one_line(user_file, target, message):
    user_file.with_name("broken.py").write_text("1 / 0")
    with pytest.raises(BrittleError, match=message) as caught:
        classifier("torch:" + target.format(file=user_file, folder=user_file.parent))
    assert "\n" not in str(caught.value)
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("shape", [(3, 8, 8), (1, 9, 8)])
def test_wrong_channels_or_size_name_the_images_and_the_remedy(network, shape):
    expected = rf"Sequential can't take images of {'×'.join(map(str, shape))}: .*Give channels=… or size=…"
    with pytest.raises(BrittleError, match=expected) as caught:
        classifier(network).check(torch.rand(2, *shape))
    assert "\n" not in str(caught.value)


def test_the_remedies_for_wrong_channels_and_size_work(network):
    found = classifier(network, channels="grey", size=8, crop=8)
    found.check(torch.rand(2, 3, 20, 24))


def test_a_bug_in_the_network_on_a_shape_that_worked_is_not_blamed_on_the_shape(network, images):
    found = classifier(network)
    found.check(images)
    network[1].register_forward_hook(lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        found.log_probs(images)


def test_a_scripted_module_answers_as_the_module_it_was_made_from(network):
    images = torch.rand(4, 1, 8, 8)
    scripted, plain = classifier(torch.jit.script(network)), classifier(network)
    scripted.check(images)
    torch.testing.assert_close(scripted.log_probs(images), plain.log_probs(images))
    assert scripted.layers == ("input", "output", "weights")  # its parts take no hooks
