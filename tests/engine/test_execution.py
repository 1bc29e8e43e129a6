"""How classifiers are carried out: what other numbers and compiled graphs change, and what is kept of it."""

import copy
import json

import numpy as np
import pytest
import torch
from torch import nn

import brittle
from brittle.classifiers.folding import folded
from brittle.errors import BrittleError
from brittle.measures import graphs

SPACES = {"turned": "rotation:sigma=20", "hidden": "occlusion"}


@pytest.fixture(autouse=True)
def traced_alone(monkeypatch):
    """What torch follows is carried out operation by operation, since compiling takes minutes on a CPU."""
    monkeypatch.setattr(graphs, "BACKEND", "aot_eager")
    torch._dynamo.reset()


class Normed(nn.Module):
    """Convolution, batch norm, mean, linear."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(0)
        self.convolution, self.norm, self.last = nn.Conv2d(1, 8, 3), nn.BatchNorm2d(8), nn.Linear(8, 3)
        self.norm.running_mean.uniform_(-1, 1)
        self.norm.running_var.uniform_(0.5, 2)
        self.norm.weight.data.uniform_(0.5, 2)

    def forward(self, images):
        return self.last(self.norm(self.convolution(images)).relu().mean((2, 3)))


class Looking(Normed):
    """Takes another way where the images are dark."""

    def forward(self, images):
        return super().forward(images if images.mean() > 0.1 else images + 1)


@pytest.fixture
def arrays():
    numbers = np.random.default_rng(0)
    return numbers.random((30, 1, 12, 12), dtype=np.float32), numbers.integers(0, 3, 30)


def rows(found):
    return found.rows.sort_by([("image", "ascending"), ("draw", "ascending")])


def test_batch_norms_are_folded_into_convolutions():
    module, images = Normed().eval(), torch.rand(5, 1, 12, 12)
    found = folded(module, module, images)
    assert not any(isinstance(part, nn.BatchNorm2d) for part in found.modules())
    assert any(isinstance(part, nn.BatchNorm2d) for part in module.modules()), "the module itself stays as it is"
    assert found(images).detach().numpy() == pytest.approx(module(images).detach().numpy(), abs=1e-5)


def test_rounding_does_not_keep_batch_norms():
    """In a deep network two roundings of the same weights lie far apart; which network it is shows in float32."""
    torch.manual_seed(0)
    norms = [nn.BatchNorm2d(16) for _ in range(24)]
    parts = [part for norm in norms for part in (nn.Conv2d(16, 16, 3, padding=1), norm, nn.ReLU())]
    deep = nn.Sequential(nn.Conv2d(1, 16, 1), *parts, nn.Flatten(), nn.LazyLinear(3))
    images = torch.rand(8, 1, 12, 12)
    with torch.no_grad():
        deep.train()(images)
        for norm in norms:
            norm.momentum = None
            norm.reset_running_stats()
        deep(images)
    deep.eval()
    rounded = copy.deepcopy(deep).bfloat16()
    found = folded(rounded, deep, images.bfloat16())
    assert not any(isinstance(part, nn.BatchNorm2d) for part in found.modules())
    assert {each.dtype for each in found.parameters()} == {torch.bfloat16}
    exact, own, ours = (net(images.to(next(net.parameters()).dtype)).float() for net in (deep, rounded, found))
    assert (ours - exact).abs().max() <= 1.5 * (own - exact).abs().max()


def test_what_cannot_be_folded_stays_as_it_is():
    module = Looking().eval()
    assert folded(module, module, torch.rand(5, 1, 12, 12)) is module


def test_compiled_rows_are_those_of_the_module(arrays):
    plain, compiled = (
        brittle.run({"it": Normed()}, arrays, SPACES, ["robustness:samples=4", "clean"], compile=way, batch=16)
        for way in ("no", "yes")
    )
    for nuisance in SPACES:
        one, other = (rows(each.of("robustness").of(nuisance=nuisance)) for each in (plain, compiled))
        assert one.num_rows == other.num_rows == 120
        assert other["log_p_label"].to_numpy() == pytest.approx(one["log_p_label"].to_numpy(), abs=1e-5)


def test_a_module_that_torch_cannot_follow_is_carried_out_as_it_is(arrays):
    with pytest.warns(brittle.BrittleWarning, match="the classifier 'it' is not compiled: "):
        found = brittle.run({"it": Looking()}, arrays, SPACES, "robustness:samples=4", compile="yes")
    plain = brittle.run({"it": Looking()}, arrays, SPACES, "robustness:samples=4", compile="no")
    assert found.summary["measures"] == plain.summary["measures"]


def test_a_run_is_resumed_as_it_was_begun(arrays, tmp_path):
    """`auto` compiles nothing on a CPU, and what a run began with decides for what is added to it later."""
    brittle.run({"it": Normed()}, arrays, SPACES, "robustness:samples=4", out=tmp_path / "run")
    kept = json.loads((tmp_path / "run" / "begun.json").read_text())
    assert kept["compiled"] == {"it": "no"}
    with pytest.raises(BrittleError, match=r"the study has changed .*compile"):
        brittle.run({"it": Normed()}, arrays, SPACES, "robustness:samples=4", out=tmp_path / "run", compile="yes")
    with pytest.raises(BrittleError, match=r"the study has changed .*precision"):
        brittle.run({"it": Normed()}, arrays, SPACES, "robustness:samples=4", out=tmp_path / "run", precision="bf16")


def test_rows_depend_on_how_they_were_computed(arrays, tmp_path):
    """Those of a compiled classifier are not taken for a plain one's."""
    found = [
        brittle.run({"it": Normed()}, arrays, SPACES, "clean", out=tmp_path / way, compile=way).run.job
        for way in ("no", "yes")
    ]
    (cell,) = next(iter(found[0].assignments.values())).cells()
    assert found[0].depends(cell) != found[1].depends(cell)


def test_bfloat16_says_what_it_changes_and_leaves_the_module_alone(arrays):
    module = Normed()
    before = {name: value.clone() for name, value in module.state_dict().items()}
    with pytest.warns(
        brittle.BrittleWarning, match=r"precision=bf16 changes, of the classifier 'it', probabilities by"
    ):
        found = brittle.run({"it": module}, arrays, SPACES, "robustness:samples=4", precision="bf16")
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    plain = brittle.run({"it": module}, arrays, SPACES, "robustness:samples=4")
    one, other = (
        rows(each.of("robustness").of(nuisance="turned"))["log_p_label"].to_numpy() for each in (plain, found)
    )
    assert 0 < np.abs(np.exp(one) - np.exp(other)).max() < 0.02


def test_a_precision_that_reaches_nothing_is_said(arrays):
    def brightness(images):
        return torch.stack((images.mean((1, 2, 3)), images.amax((1, 2, 3)), images.amin((1, 2, 3))), 1)

    with pytest.warns(brittle.BrittleWarning, match="the classifier 'it' is not a torch module, and precision=bf16"):
        brittle.run({"it": brightness}, arrays, SPACES, "robustness:samples=2", precision="bf16")


def test_rows_by_onnxruntime_are_those_of_the_module(arrays):
    plain, exported = (
        brittle.run({"it": Normed()}, arrays, SPACES, ["robustness:samples=4", "clean"], compile=way, batch=16)
        for way in ("no", "onnx")
    )
    for nuisance in SPACES:
        one, other = (rows(each.of("robustness").of(nuisance=nuisance)) for each in (plain, exported))
        assert other["log_p_label"].to_numpy() == pytest.approx(one["log_p_label"].to_numpy(), abs=1e-5)


def test_how_a_module_is_carried_out_is_kept_and_obeyed(arrays, tmp_path):
    how = {"out": tmp_path / "run", "batch": 16}
    brittle.run({"it": Normed()}, arrays, SPACES, ["robustness:samples=2"], compile="onnx", **how)
    assert json.loads((tmp_path / "run" / "begun.json").read_text())["compiled"] == {"it": "onnx"}


@pytest.mark.warned("is not compiled")
def test_what_cannot_be_exported_is_carried_out_as_it_is(arrays):
    found = brittle.run({"it": Looking()}, arrays, SPACES, ["robustness:samples=2"], compile="onnx", batch=16)
    assert found.of("robustness").of(nuisance="turned").rows.num_rows == 60


@pytest.mark.parametrize("way", ["yes", "onnx"])
def test_rows_of_a_folder_are_had_however_they_were_computed(way, tmp_path):
    folder, study = tmp_path / "run", {"seed": 0, "compile": way, "classifiers": {"plain": "bundled:plain"}}
    study |= {"images": {"some": {"spec": "sample", "count": 8}}, "nuisances": {"turned": "rotation:sigma=20"}}
    found = brittle.run({**study, "robustness": {"samples": 2}}, out=folder, device="cpu", batch=8)
    assert json.loads((folder / "begun.json").read_text())["compiled"] == {"plain": way}
    read = brittle.rows(folder, "robustness")
    assert read.num_rows == 16
    assert np.exp(read["log_p_label"].to_numpy()).mean() == pytest.approx(found.of("robustness")["rho"], abs=1e-6)
