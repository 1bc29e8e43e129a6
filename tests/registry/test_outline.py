"""What the source says of kinds is what they are once they are imported; and a misspelt spec is refused by it."""

import pytest

from brittle.classifiers import classifiers
from brittle.errors import BrittleError
from brittle.extras import extras
from brittle.images import image_sets
from brittle.measures import measures
from brittle.mixing import mixes
from brittle.nuisances import nuisances
from brittle.registry.options import hints_of, options_of
from brittle.registry.outline import Outline
from brittle.samplers import samplers
from brittle.training import trainable

EVERY = [classifiers, extras, image_sets, measures, mixes, nuisances, samplers, trainable]
BY_NAME_ALONE = {"hf": {"image", "label"}, "shards": {"image", "label"}}  # defaults that only an import tells


@pytest.mark.parametrize("registry", EVERY, ids=lambda registry: registry.noun)
def test_the_source_names_every_kind_and_option(registry):
    outline = Outline(registry.package)
    ours = {name for name, kind in registry.loaded().items() if kind.__module__.startswith("brittle.")}
    assert set(outline.kinds) == ours
    made = {name: outline.options(name) for name in outline.kinds}
    unread = {name for name, read in made.items() if read is None}
    assert all(name.startswith("cnn-") for name in unread)  # made by a function, not written out
    for name in made.keys() - unread:
        read, real = made[name], registry.get(name)
        fields, found = options_of(real), options_of(read)
        assert list(found) == list(fields)
        for key in fields.keys() - BY_NAME_ALONE.get(name, set()):
            assert (found[key].default, found[key].metadata) == (fields[key].default, fields[key].metadata)
            assert hints_of(read)[fields[key].name] == hints_of(real)[fields[key].name]


@pytest.mark.parametrize(
    ("registry", "spec", "said"),
    [
        (nuisances, "afine:alpha=50", "unknown nuisance 'afine'. Did you mean 'affine'?"),
        (nuisances, "affine:alpa=50", "affine has no option 'alpa'. Did you mean 'alpha'?"),
        (nuisances, "affine:alpha=-1", "affine: alpha is -1, but must be above 0"),
        (nuisances, "rotation+affine:alpa=50", "affine has no option 'alpa'. Did you mean 'alpha'?"),
        (nuisances, "affine,alpha=50", "unknown nuisance 'affine,alpha=50'. Did you mean 'affine:alpha=50'?"),
        (nuisances, "affine(alpha=50)", "unknown nuisance 'affine(alpha=50)'. Did you mean 'affine:alpha=50'?"),
        (nuisances, "affine alpha=50", "unknown nuisance 'affine alpha=50'. Did you mean 'affine:alpha=50'?"),
        (classifiers, "bundled,plain", "unknown classifier 'bundled,plain'. Did you mean 'bundled:plain'?"),
        (classifiers, "bundled:plan", "bundled: name is 'plan', but must be plain or augmented. Did you mean 'plain'?"),
        (image_sets, "folder,photos", "unknown image set 'folder,photos'. Did you mean 'folder:photos'?"),
        (image_sets, "folder", "folder needs 'path' (the folder). For example folder:…"),
        (samplers, "langevn", "unknown sampler 'langevn'. Did you mean 'langevin'?"),
        (mixes, "cutout,size=8", "unknown mix 'cutout,size=8'. Did you mean 'cutout:size=8'?"),
    ],
)
def test_a_check_says_what_building_would_say(registry, spec, said):
    for refuse in (registry.check, registry.build):
        with pytest.raises(BrittleError) as caught:
            refuse(spec)
        assert str(caught.value) == said


def test_what_the_source_does_not_tell_is_left_for_later():
    nuisances.check("somebodys.module:Nuisance,size=3")
    nuisances.check("nowhere.py:Nuisance")
    trainable.check("cnn-2:whatever=3")
