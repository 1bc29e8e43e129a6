"""What other packages build on: all that a nuisance, classifier, image set, sampler, mix, extra, measure, command or
section is written with. Nothing else of Brittle has to be imported for it.

What is promised: from 0.1.0 on, the names listed here, their parameters and what they return stay as they are within
a minor version: what works with 0.1.0 works with 0.1.1. Until 1.0 a new minor version may change or remove a name; from
1.0 on only a new major version may. New names, new optional parameters, and new members that have a default may come at
any time. The same holds for what `import brittle` lists.

How changes are announced: CHANGELOG.md has each under "Changed" or "Removed", and what to write instead. The old name
is then gone; it does not stay beside its successor.

What is not promised: all other modules; the last digits of results, which depend on torch and the machine; and the
wording of messages. docs/extending.md explains every name.

Names are imported when they are first used: a module that takes only `Command` and `option` from here imports no torch.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brittle.classifiers import classifier as classifier
    from brittle.classifiers import register as _register_classifier
    from brittle.classifiers.base import AdaptedClassifier as AdaptedClassifier
    from brittle.classifiers.base import AdapterOptions as AdapterOptions
    from brittle.classifiers.base import ClassifierLoader as ClassifierLoader
    from brittle.classifiers.deferred import DeferredClassifier as DeferredClassifier
    from brittle.commands import Command as Command
    from brittle.errors import BrittleError as BrittleError
    from brittle.errors import BrittleWarning as BrittleWarning
    from brittle.errors import Failure as Failure
    from brittle.errors import MissingPackage as MissingPackage
    from brittle.extras import Extra as Extra
    from brittle.extras import register as _register_extra
    from brittle.images import Loader as _ImageSetLoader
    from brittle.images import image_set as image_set
    from brittle.images import register as _register_image_set
    from brittle.images.base import ImageSet as ImageSet
    from brittle.measures import register as _register_measure
    from brittle.measures.answers import Answers as Answers
    from brittle.measures.answers import At as At
    from brittle.measures.answers import Change as Change
    from brittle.measures.answers import Notes as Notes
    from brittle.measures.answers import PendingAnswers as PendingAnswers
    from brittle.measures.answers import PendingOutcome as PendingOutcome
    from brittle.measures.base import CLASSIFIER as CLASSIFIER
    from brittle.measures.base import IMAGES as IMAGES
    from brittle.measures.base import NUISANCE as NUISANCE
    from brittle.measures.base import PATH as PATH
    from brittle.measures.base import ROWS as ROWS
    from brittle.measures.base import About as About
    from brittle.measures.base import BadAnswer as BadAnswer
    from brittle.measures.base import Cell as Cell
    from brittle.measures.base import ClassifierFacts as ClassifierFacts
    from brittle.measures.base import Derived as Derived
    from brittle.measures.base import Fold as Fold
    from brittle.measures.base import ImageSetFacts as ImageSetFacts
    from brittle.measures.base import Measure as Measure
    from brittle.measures.base import MeasureInputs as MeasureInputs
    from brittle.measures.base import Pending as Pending
    from brittle.measures.base import Piece as Piece
    from brittle.measures.base import Read as Read
    from brittle.measures.base import ReadRows as ReadRows
    from brittle.measures.base import RunView as RunView
    from brittle.measures.base import Tables as Tables
    from brittle.measures.base import Task as Task
    from brittle.measures.base import TaskPairs as TaskPairs
    from brittle.measures.base import pairs_of as pairs_of
    from brittle.measures.base import refuse_unknown as refuse_unknown
    from brittle.measures.base import tabled as tabled
    from brittle.measures.base import two_by_two as two_by_two
    from brittle.measures.base import values_by_id as values_by_id
    from brittle.measures.changes import AlongFreshPath as AlongFreshPath
    from brittle.measures.changes import AlongPath as AlongPath
    from brittle.measures.changes import DrawnTheta as DrawnTheta
    from brittle.measures.changes import GivenTheta as GivenTheta
    from brittle.measures.changes import Untouched as Untouched
    from brittle.measures.clean.measure import clean_columns as clean_columns
    from brittle.measures.clean.measure import predictions as predictions
    from brittle.measures.clean.measure import references as references
    from brittle.measures.criteria import Criterion as Criterion
    from brittle.measures.criteria import left_prediction as left_prediction
    from brittle.measures.criteria import reached as reached
    from brittle.measures.distortion import INTERFERENCE_KEY as INTERFERENCE_KEY
    from brittle.measures.distortion import DistortionPart as DistortionPart
    from brittle.measures.distortion import interference_row as interference_row
    from brittle.measures.distortion import interference_rows as interference_rows
    from brittle.measures.draws import check_path as check_path
    from brittle.measures.draws import check_stored as check_stored
    from brittle.measures.draws import draw_theta as draw_theta
    from brittle.measures.folds import ImageSums as ImageSums
    from brittle.measures.folds import ImageValues as ImageValues
    from brittle.measures.folds import KeptRows as KeptRows
    from brittle.measures.lanes import lane_size as lane_size
    from brittle.measures.outcomes import Outcome as Outcome
    from brittle.measures.outcomes import first_bad as first_bad
    from brittle.measures.outcomes import outcome_columns as outcome_columns
    from brittle.measures.plan import Grid as Grid
    from brittle.measures.plan import Plan as Plan
    from brittle.measures.plan import Unit as Unit
    from brittle.measures.plan import UnitList as UnitList
    from brittle.measures.plan import rows_per_unit as rows_per_unit
    from brittle.measures.severities import Severities as Severities
    from brittle.measures.severities import fine_grid as fine_grid
    from brittle.measures.severities import followable as followable
    from brittle.measures.severities import severities_of as severities_of
    from brittle.measures.sweep import Brackets as Brackets
    from brittle.measures.sweep import Crossings as Crossings
    from brittle.measures.sweep import PathOutcomes as PathOutcomes
    from brittle.measures.sweep import narrow_brackets as narrow_brackets
    from brittle.measures.sweep import path_outcomes as path_outcomes
    from brittle.measures.sweep import sweep as sweep
    from brittle.mixing import register as _register_mix
    from brittle.mixing.base import MASK as MASK
    from brittle.mixing.base import Mix as Mix
    from brittle.mixing.base import PairMix as PairMix
    from brittle.nuisances import nuisance as nuisance
    from brittle.nuisances import register as _register_nuisance
    from brittle.nuisances.base.corruption import Corruption as Corruption
    from brittle.nuisances.base.field import FieldNuisance as FieldNuisance
    from brittle.nuisances.base.gaussian import GaussianNuisance as GaussianNuisance
    from brittle.nuisances.base.levels import strengths as strengths
    from brittle.nuisances.base.seeds import SEED_NAMES as SEED_NAMES
    from brittle.nuisances.base.seeds import seed_from as seed_from
    from brittle.nuisances.base.seeds import seed_keys as seed_keys
    from brittle.nuisances.base.seeds import seed_log_prior as seed_log_prior
    from brittle.nuisances.geometry.geometric import GeometricNuisance as GeometricNuisance
    from brittle.nuisances.ops.broadcast import as_factor as as_factor
    from brittle.nuisances.ops.warp import affine_sources as affine_sources
    from brittle.nuisances.ops.warp import resample as resample
    from brittle.random import bits as bits
    from brittle.random import draw_keys as draw_keys
    from brittle.random import fold as fold
    from brittle.random import key_of as key_of
    from brittle.random import normal as normal
    from brittle.random import normal_field as normal_field
    from brittle.random import stream_root as stream_root
    from brittle.random import uniform as uniform
    from brittle.random import uniform_field as uniform_field
    from brittle.registry.options import did_you_mean as did_you_mean
    from brittle.registry.options import option as option
    from brittle.report import blocks as blocks
    from brittle.report.page.section import MeasureRun as MeasureRun
    from brittle.report.page.section import Section as Section
    from brittle.report.page.section import Summary as Summary
    from brittle.report.sections import register as _register_section
    from brittle.report.sections.base import BaseSection as BaseSection
    from brittle.samplers import register as _register_sampler
    from brittle.samplers.target import Budget as Budget
    from brittle.samplers.target import Evaluation as Evaluation
    from brittle.samplers.target import PosteriorDraws as PosteriorDraws
    from brittle.samplers.target import PriorDraws as PriorDraws
    from brittle.samplers.target import Sampler as Sampler
    from brittle.samplers.target import Target as Target
    from brittle.samplers.target import log_density as log_density
    from brittle.statistics.betting_ratio import quotient_bounds as quotient_bounds
    from brittle.statistics.intervals import Bounds as Bounds
    from brittle.statistics.intervals import betting_bounds as betting_bounds
    from brittle.statistics.intervals import binomial_bounds as binomial_bounds
    from brittle.statistics.intervals import finite_bounds as finite_bounds
    from brittle.statistics.intervals import rounds_bounds as rounds_bounds
    from brittle.statistics.intervals import simultaneous as simultaneous
    from brittle.statistics.survival import median_interval as median_interval
    from brittle.types import OF_255 as OF_255
    from brittle.types import UNLABELLED as UNLABELLED
    from brittle.types import AnswersLater as AnswersLater
    from brittle.types import AnyPrecision as AnyPrecision
    from brittle.types import Batch as Batch
    from brittle.types import Clamping as Clamping
    from brittle.types import Classifier as Classifier
    from brittle.types import ClassNames as ClassNames
    from brittle.types import Clipped as Clipped
    from brittle.types import Differentiable as Differentiable
    from brittle.types import ExchangeableParts as ExchangeableParts
    from brittle.types import Graphable as Graphable
    from brittle.types import HidesPixels as HidesPixels
    from brittle.types import HidesShare as HidesShare
    from brittle.types import InBenchmark as InBenchmark
    from brittle.types import InScales as InScales
    from brittle.types import LayerChange as LayerChange
    from brittle.types import Layered as Layered
    from brittle.types import Nuisance as Nuisance
    from brittle.types import OnPath as OnPath
    from brittle.types import ParameterUnits as ParameterUnits
    from brittle.types import ReadableTheta as ReadableTheta
    from brittle.types import Remarks as Remarks
    from brittle.types import Scaled as Scaled
    from brittle.types import SeesPart as SeesPart
    from brittle.types import SettlesOnImages as SettlesOnImages
    from brittle.types import SeverityScale as SeverityScale
    from brittle.types import Titled as Titled
    from brittle.types import Traceable as Traceable
    from brittle.types import TrainingRecord as TrainingRecord
    from brittle.types import in_numbers as in_numbers

    # Only a name that stays what it was at home becomes public by its import.
    register_classifier = _register_classifier
    register_extra = _register_extra
    ImageSetLoader = _ImageSetLoader
    register_image_set = _register_image_set
    register_measure = _register_measure
    register_mix = _register_mix
    register_nuisance = _register_nuisance
    register_section = _register_section
    register_sampler = _register_sampler

# Module → the names taken from it; module.name:other where it has another name here.
_HOMES = {
    "brittle.classifiers": "classifier register:register_classifier",
    "brittle.classifiers.base": "AdaptedClassifier AdapterOptions ClassifierLoader",
    "brittle.classifiers.deferred": "DeferredClassifier",
    "brittle.commands": "Command",
    "brittle.errors": "BrittleError BrittleWarning Failure MissingPackage",
    "brittle.extras": "Extra register:register_extra",
    "brittle.images": "Loader:ImageSetLoader image_set register:register_image_set",
    "brittle.images.base": "ImageSet",
    "brittle.measures": "register:register_measure",
    "brittle.measures.answers": "Answers At Change Notes PendingAnswers PendingOutcome",
    "brittle.measures.base": (
        "CLASSIFIER IMAGES NUISANCE PATH ROWS About BadAnswer Cell ClassifierFacts Derived Fold ImageSetFacts Measure "
        "MeasureInputs Pending Piece Read ReadRows RunView Tables Task TaskPairs pairs_of refuse_unknown tabled "
        "two_by_two values_by_id"
    ),
    "brittle.measures.changes": "AlongFreshPath AlongPath DrawnTheta GivenTheta Untouched",
    "brittle.measures.clean.measure": "clean_columns predictions references",
    "brittle.measures.criteria": "Criterion left_prediction reached",
    "brittle.measures.distortion": "INTERFERENCE_KEY DistortionPart interference_row interference_rows",
    "brittle.measures.draws": "check_path check_stored draw_theta",
    "brittle.measures.folds": "ImageSums ImageValues KeptRows",
    "brittle.measures.lanes": "lane_size",
    "brittle.measures.outcomes": "Outcome first_bad outcome_columns",
    "brittle.measures.plan": "Grid Plan Unit UnitList rows_per_unit",
    "brittle.measures.severities": "Severities fine_grid followable severities_of",
    "brittle.measures.sweep": "Brackets Crossings PathOutcomes narrow_brackets path_outcomes sweep",
    "brittle.mixing": "register:register_mix",
    "brittle.mixing.base": "MASK Mix PairMix",
    "brittle.nuisances": "nuisance register:register_nuisance",
    "brittle.nuisances.base.corruption": "Corruption",
    "brittle.nuisances.base.field": "FieldNuisance",
    "brittle.nuisances.base.gaussian": "GaussianNuisance",
    "brittle.nuisances.base.levels": "strengths",
    "brittle.nuisances.base.seeds": "SEED_NAMES seed_from seed_keys seed_log_prior",
    "brittle.nuisances.geometry.geometric": "GeometricNuisance",
    "brittle.nuisances.ops.broadcast": "as_factor",
    "brittle.nuisances.ops.warp": "affine_sources resample",
    "brittle.random": "bits draw_keys fold key_of normal normal_field stream_root uniform uniform_field",
    "brittle.registry.options": "did_you_mean option",
    "brittle.report": "blocks",
    "brittle.report.page.section": "MeasureRun Section Summary",
    "brittle.report.sections": "register:register_section",
    "brittle.report.sections.base": "BaseSection",
    "brittle.samplers": "register:register_sampler",
    "brittle.samplers.target": "Budget Evaluation PosteriorDraws PriorDraws Sampler Target log_density",
    "brittle.statistics.intervals": "Bounds betting_bounds binomial_bounds finite_bounds rounds_bounds simultaneous",
    "brittle.statistics.betting_ratio": "quotient_bounds",
    "brittle.statistics.survival": "median_interval",
    "brittle.types": (
        "OF_255 UNLABELLED AnswersLater AnyPrecision Batch Clamping ClassNames Classifier Clipped Differentiable "
        "ExchangeableParts Graphable HidesPixels HidesShare InBenchmark InScales LayerChange Layered Nuisance "
        "OnPath ParameterUnits ReadableTheta Remarks Scaled SeesPart SettlesOnImages SeverityScale Titled Traceable "
        "TrainingRecord in_numbers"
    ),
}
_HOME_OF = {
    here or name: (home, name)
    for home, names in _HOMES.items()
    for name, _, here in (each.partition(":") for each in names.split())
}
__all__ = sorted(_HOME_OF)


if not TYPE_CHECKING:  # a type checker would then take every name for one that there is

    def __getattr__(name: str) -> Any:
        """A name from its home; `blocks` is a module."""
        if name not in _HOME_OF:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        home, there = _HOME_OF[name]
        if name == "blocks":
            return importlib.import_module(f"{home}.{there}")
        return getattr(importlib.import_module(home), there)


def __dir__() -> list[str]:
    """What is promised, and not what happens to be imported."""
    return list(__all__)
