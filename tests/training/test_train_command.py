import os
import signal
import time

import numpy as np
import pytest

import brittle
from brittle.training import train
from brittle.training.train_network import _held

EPOCHS = 12


@pytest.fixture
def images(tmp_path):
    """Two hundred pictures of ten classes, each bright in rows of its own."""
    random = np.random.default_rng(0)
    labels = np.arange(200) % 10
    pixels = random.integers(0, 100, (200, 28, 28))
    for place, label in enumerate(labels):
        pixels[place, 2 * label + 4 : 2 * label + 6] += 150
    np.savez(tmp_path / "images.npz", images=pixels.astype(np.uint8), labels=labels)
    return f"npz:{tmp_path}/images.npz"


def test_a_network_is_trained_scored_and_measured(cli, images, tmp_path):
    out = tmp_path / "deep" / "net.safetensors"
    command = ("train", "cnn-1", images, "--out", out, "--epochs", 6, "--test", images, "--batch-size", 50)
    said = cli(*command, "--json")
    found = said.json
    assert (said.status, said.err) == (0, "")
    assert (found["network"], found["epochs"], found["epochs_before"], found["images"]) == ("cnn-1", 6, 0, 200)
    assert found["test_error"] < 0.1
    assert sorted(path.name for path in out.parent.iterdir()) == ["net.safetensors"]
    measured = brittle.measure(found["classifier"], images, "translation:sigma=0.001", samples=2, device="cpu")
    assert measured["accuracy_clean"] == pytest.approx(1 - found["test_error"])

    before = out.read_bytes()
    again = cli(*command)
    assert again.out.splitlines() == [
        f"cnn-1: 6 epochs of 200 images, loss {found['loss']:.4f}",
        f"test error: {found['test_error']:.2%} of 200 images",
        f"classifier: torch:brittle.training.networks:cnn_1,weights={out}",
    ]
    assert out.read_bytes() == before


def test_python_trains_as_the_command_line_does(cli, images, tmp_path):
    cli("train", "cnn-1-da:shift=2", images, "--out", tmp_path / "a.safetensors", "--epochs", 1, "--lr", 0.03)
    train("cnn-1-da:shift=2", images, tmp_path / "b.safetensors", epochs=1, rate=0.03, device="cpu")
    train("cnn-1-da:shift=2", images, tmp_path / "c.safetensors", epochs=1, rate=0.03, device="cpu", seed=1)
    a, b, c = ((tmp_path / f"{name}.safetensors").read_bytes() for name in "abc")
    assert a == b
    assert a != c


@pytest.mark.slow
def test_a_killed_training_goes_on_to_the_same_bytes(start, ended, images, tmp_path):
    """kill -9 in the middle, then the same command: weights and losses of an undisturbed run."""

    def command(name: str) -> tuple:
        return (
            "train",
            "cnn-1-dropout",
            images,
            "--out",
            tmp_path / f"{name}.safetensors",
            "--epochs",
            EPOCHS,
            "--json",
        )

    undisturbed, killed = start(*command("whole")), start(*command("killed"))
    checkpoint = tmp_path / "killed.training.pt"
    while not checkpoint.exists():
        assert killed.poll() is None, killed.communicate()
        time.sleep(0.005)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    assert checkpoint.exists()
    assert not (tmp_path / "killed.safetensors").exists()

    resumed = ended(start(*command("killed"))).json
    whole = ended(undisturbed).json
    assert whole["epochs_before"] == 0
    assert 0 < resumed["epochs_before"] < EPOCHS
    assert (tmp_path / "killed.safetensors").read_bytes() == (tmp_path / "whole.safetensors").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "images.npz",
        "killed.safetensors",
        "whole.safetensors",
    ]


def test_mistakes_are_answered_in_one_line(cli, images, tmp_path):
    out = tmp_path / "net.safetensors"
    assert "Did you mean 'cnn-2-stn'" in cli("train", "cnn-2-snt", images, "--out", out).complaint(2)
    assert "Call it net.safetensors" in cli("train", "cnn-1", images, "--out", tmp_path / "net.pt").complaint(2)
    np.savez(tmp_path / "large.npz", images=np.zeros((4, 32, 32), np.uint8), labels=np.arange(4))
    large = cli("train", "cnn-1", f"npz:{tmp_path}/large.npz", "--out", out).complaint(2)
    assert "takes images of 1×28×28, but those of 'large.npz' are 1×32×32" in large
    np.savez(tmp_path / "many.npz", images=np.zeros((4, 28, 28), np.uint8), labels=np.arange(4) * 4)
    many = cli("train", "cnn-1", f"npz:{tmp_path}/many.npz", "--out", out).complaint(2)
    assert "label 12" in many
    assert not out.exists()

    assert cli("train", "cnn-1", images, "--out", out, "--epochs", 1).status == 0
    changed = cli("train", "cnn-1", images, "--out", out, "--epochs", 1, "--lr", 0.5).complaint(2)
    assert "belongs to another training: recipe.rate: 0.01 → 0.5" in changed
    other = cli("train", "cnn-1", "sample", "--out", out, "--epochs", 1).complaint(2)
    assert "belongs to another training: images: " in other
    out.write_bytes(b"something else")
    assert "net.safetensors can't be read" in cli("train", "cnn-1", images, "--out", out, "--epochs", 1).complaint(2)


def test_two_trainings_into_one_file_are_refused(cli, images, tmp_path):
    out = tmp_path / "net.safetensors"
    with _held(out):
        line = cli("train", "cnn-1", images, "--out", out, "--epochs", 1).complaint(2)
    assert "another process is training into" in line


@pytest.mark.warned("has a mean confidence of")
def test_the_classifier_printed_is_one_whatever_the_file_is_called(cli, images, tmp_path):
    found = cli("train", "cnn-1", images, "--out", tmp_path / "a, b+c.safetensors", "--epochs", 1, "--json").json
    assert brittle.measure(found["classifier"], images, "rotation", count=2, samples=1)["images"] == 2


def test_mistakes_are_one_line(cli, images, tmp_path):
    (tmp_path / "folder.safetensors").mkdir()
    for options, said in (
        (("--out", tmp_path / "folder.safetensors"), "is a folder"),
        (("--out", tmp_path / "x.safetensors", "--lr", "1e39"), "rate (--lr) is 1e39, but must be"),
        (("--out", tmp_path / "x.safetensors", "--lr", "0"), "rate (--lr) is 0, but must be above 0"),
        (("--out", tmp_path / "x.safetensors", "--precision", "bf16"), "must be float32 or bfloat16"),
    ):
        assert said in cli("train", "cnn-1", images, *options).err
    with pytest.raises(TypeError, match="unexpected keyword argument 'epoch'"):
        brittle.train("cnn-1", images, tmp_path / "x.safetensors", epoch=1)
