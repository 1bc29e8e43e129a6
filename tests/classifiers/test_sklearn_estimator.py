"""scikit-learn estimators against their own predictions on the digits that come with scikit-learn."""

import sys

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from brittle.classifiers import classifier
from brittle.errors import BrittleError, MissingPackage

USER_FILE = """
from sklearn.datasets import load_digits
from sklearn.naive_bayes import GaussianNB

def digits():
    pixels, labels = load_digits(return_X_y=True)
    return GaussianNB(var_smoothing=0.01).fit(pixels[:200], labels[:200])
"""


@pytest.fixture(scope="module")
def digits():
    pixels, labels = load_digits(return_X_y=True)
    images = torch.from_numpy(pixels).float().view(-1, 1, 8, 8) / 16
    return pixels, labels, images


def test_a_pipeline_on_digits_agrees_with_predict_proba(digits):
    pixels, labels, images = digits
    pipeline = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200)).fit(pixels[:600], labels[:600])
    found = classifier(pipeline, range=16)
    expected = pipeline.predict_proba(pixels[600:800])
    assert np.allclose(found.log_probs(images[600:800]).exp().numpy(), expected, atol=1e-6)
    assert np.allclose(found.log_probs(images[600:800]).numpy(), np.log(expected), rtol=1e-5)
    assert found.labels == tuple("0123456789")
    assert "hard" not in found.can


def test_an_estimator_without_probabilities_is_hard(digits):
    pixels, labels, images = digits
    names = np.array(["even", "odd"])[labels % 2]
    machine = LinearSVC(dual=False).fit(pixels[:600], names[:600])
    found = classifier(machine, range=16)
    assert found.can == {"hard"}
    predicted = found.log_probs(images[600:]).argmax(1).numpy()
    assert (np.array(found.labels)[predicted] == machine.predict(pixels[600:])).all()
    assert set(found.log_probs(images[:5]).unique().tolist()) == {-np.inf, 0.0}


def test_a_factory_in_a_users_file(tmp_path, digits):
    pixels, _, images = digits
    (tmp_path / "mine.py").write_text(USER_FILE)
    found = classifier(f"sklearn:{tmp_path / 'mine.py'}:digits,range=16")
    expected = found.estimator.predict_proba(pixels[:50])
    assert np.allclose(found.log_probs(images[:50]).exp().numpy(), expected, atol=1e-6)


def test_the_wrong_image_size_is_one_line(tmp_path):
    (tmp_path / "mine.py").write_text(USER_FILE)
    with pytest.raises(BrittleError, match=r"can't take images of 1×28×28: X has 784 features.*size=") as caught:
        classifier(f"sklearn:{tmp_path / 'mine.py'}:digits").check(torch.rand(2, 1, 28, 28))
    assert caught.value.exit_status == 2


@pytest.mark.parametrize("name", ["model.pkl", "model.joblib"])
def test_a_pickle_is_refused_with_what_to_do_instead(name):
    with pytest.raises(BrittleError, match=r"would run code when loaded, so it is refused.*ONNX"):
        classifier(f"sklearn:{name}")


def test_an_unfitted_estimator_is_one_line(digits):
    with pytest.raises(BrittleError, match=r"neither predict_proba nor classes_. Fit it first"):
        classifier(LinearSVC())
    with pytest.raises(BrittleError, match="not fitted yet"):
        classifier(LogisticRegression()).check(digits[2][:2])


def test_without_scikit_learn_the_command_to_install_it_is_given(monkeypatch):
    monkeypatch.setitem(sys.modules, "sklearn", None)
    with pytest.raises(MissingPackage, match=r"pip install .*\[sklearn\]'") as caught:
        classifier("sklearn:mine:digits")
    assert caught.value.exit_status == 2
