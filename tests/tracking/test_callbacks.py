"""Callbacks, in training loops of the real libraries."""

import os

import pytest
import torch
from torch import nn

import brittle
from brittle.callbacks import EveryEpochs
from brittle.errors import BrittleError

pytestmark = pytest.mark.warned("matched by number", "near chance", "mean confidence", "guess")
FEW = {"count": 10, "samples": 2}


def network():
    return nn.Sequential(nn.Flatten(), nn.Linear(28 * 28, 10))


def test_a_plain_loop_measures_every_nth_epoch():
    logged = []
    watch = EveryEpochs(
        "sample", "rotation:sigma=15", every=2, to=lambda numbers, step: logged.append((step, numbers)), **FEW
    )
    net = network().train()
    for epoch in range(5):
        found = watch(net, epoch)
        assert (found is not None) == (epoch in (1, 3))
    assert [step for step, _ in logged] == [1, 3]
    assert list(watch.found) == [1, 3]
    assert logged[0][1] == logged[1][1], "the same network, images and θ"
    assert net.training
    with pytest.raises(BrittleError, match="every is 0"):
        EveryEpochs("sample", "fog", every=0)


@pytest.fixture
def few_images():
    batch = brittle.image_set("sample").batch(range(40))
    return batch.images, batch.labels


def test_lightning_logs_to_the_trainers_loggers(few_images, tmp_path, torchvision):
    pytest.importorskip("lightning")
    import lightning.pytorch as lightning
    from lightning.pytorch.loggers import CSVLogger

    from brittle.callbacks import LightningCallback

    class Net(lightning.LightningModule):
        def __init__(self):
            super().__init__()
            self.layers = network()

        def forward(self, images):
            return self.layers(images)

        def training_step(self, batch, index):
            return nn.functional.cross_entropy(self(batch[0]), batch[1])

        def validation_step(self, batch, index):
            pass

        def configure_optimizers(self):
            return torch.optim.SGD(self.parameters(), 0.01)

    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(*few_images), batch_size=20)
    callback = LightningCallback("sample", "rotation:sigma=15", every=2, **FEW)
    logger = CSVLogger(tmp_path)
    trainer = lightning.Trainer(
        max_epochs=4, logger=logger, callbacks=[callback], accelerator="cpu", enable_progress_bar=False,
        enable_model_summary=False, enable_checkpointing=False, log_every_n_steps=1,
    )  # fmt: skip
    trainer.fit(Net(), loader, loader)
    name = "brittle/robustness.network.sample.rotation:sigma=15.rho"
    assert list(callback.watch.found) == [1, 3]
    assert float(trainer.callback_metrics[name]) == pytest.approx(callback.watch.found[3]["rho"])
    assert name in next(tmp_path.rglob("metrics.csv")).read_text()


def test_keras_adds_numbers_to_the_logs_of_an_epoch(few_images, monkeypatch):
    os.environ.setdefault("KERAS_BACKEND", "torch")
    keras = pytest.importorskip("keras")
    from brittle.callbacks import KerasCallback
    from brittle.callbacks.keras_callback import as_function

    images, labels = few_images
    model = keras.Sequential([keras.Input((28, 28, 1)), keras.layers.Flatten(), keras.layers.Dense(10, "softmax")])
    model.compile("sgd", "sparse_categorical_crossentropy")
    callback = KerasCallback("sample", "rotation:sigma=15", every=2, **FEW)
    history = model.fit(
        images.permute(0, 2, 3, 1).numpy(), labels.numpy(), epochs=4, verbose=0, callbacks=[callback]
    ).history
    (name,) = (each for each in history if each.endswith(".rho"))
    assert history[name] == [callback.watch.found[1]["rho"], callback.watch.found[3]["rho"]]
    shown = model(images[:1].permute(0, 2, 3, 1).numpy(), training=False)
    ours = brittle.classifier(as_function(model))
    assert torch.allclose(ours.log_probs(images[:1]).exp(), torch.as_tensor(shown).detach().cpu(), atol=1e-5)
