"""The grammar of specs, taken apart and written again."""

import pytest

from brittle.errors import BrittleError
from brittle.registry.spec import Spec, parse_named, parse_spec, summands, write_spec, written


@pytest.mark.parametrize(
    ("text", "spec"),
    [
        ("sample", Spec("sample", ())),
        ("affine:alpha=50", Spec("affine", ("alpha=50",))),
        (" folder : a , size = 3 ", Spec("folder", ("a", "size = 3"))),
        (r"folder:my\,photos,size=3", Spec("folder", ("my,photos", "size=3"))),
        ("torch:a.b:make,weights=w.pt", Spec("torch", ("a.b:make", "weights=w.pt"))),
        (r"onnx:a\+b.onnx", Spec("onnx", ("a+b.onnx",))),
    ],
)
def test_a_spec_is_taken_apart(text, spec):
    assert parse_spec(text) == spec


def test_the_first_part_may_be_the_positional_options_value_alone():
    known = {"path": 0, "size": 0}
    assert list(parse_spec("f:a=b.png,size=3").options(known, "path")) == [("path", "a=b.png"), ("size", "3")]
    assert list(parse_spec("f:path=a,size=3").options(known, "path")) == [("path", "a"), ("size", "3")]
    with pytest.raises(BrittleError, match=r"f: 'b' is not option=value\. Its options are: path, size\."):
        list(parse_spec("f:a,b").options(known, "path"))
    with pytest.raises(BrittleError, match=r"f: 'a' is not option=value\. It has no options\."):
        list(parse_spec("f:a").options({}, None))


@pytest.mark.parametrize("value", ["a,b+c", r"a\,b", "https://host:8000/model", "a=b"])
def test_a_written_value_is_read_again(value):
    text = write_spec("kind", value, {"other": value})
    assert list(parse_spec(text).options({"what", "other"}, "what")) == [("what", value), ("other", value)]


@pytest.mark.parametrize(
    ("value", "text"), [(50.0, "50"), (1e-05, "1e-05"), ((0.5, 1.0), "0.5/1"), (True, "True"), ("a,b", r"a\,b")]
)
def test_values_are_written_as_short_as_they_are_read(value, text):
    assert written(value) == text


@pytest.mark.parametrize(
    ("text", "name", "spec"),
    [
        ("mine=onnx:model.onnx", "mine", "onnx:model.onnx"),
        ("onnx:model.onnx,output=logits", "onnx:model.onnx,output=logits", "onnx:model.onnx,output=logits"),
        (" sample ", "sample", "sample"),
        ("v1.2-b=bundled:plain", "v1.2-b", "bundled:plain"),
    ],
)
def test_a_spec_may_have_a_name(text, name, spec):
    assert parse_named(text) == (name, spec)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("affine", ["affine"]),
        ("affine:alpha=1e+3", ["affine:alpha=1e+3"]),
        ("affine:alpha=50 + noise", ["affine:alpha=50", "noise"]),
        ("affine+brightness:sigma=0.1+shot", ["affine", "brightness:sigma=0.1", "shot"]),
        (r"patch:texture=npz:a\+b.npz", [r"patch:texture=npz:a\+b.npz"]),
    ],
)
def test_specs_are_joined_by_plus_signs(text, parts):
    assert summands(text) == parts
