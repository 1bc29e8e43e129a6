"""p(θ | not ℓ, x) ∝ p(not ℓ | T_θ x) · p(θ | x) (Fawzi & Frossard 2016, section 2.3) as samplers see it.

With `failing`, a θ counts only where the prediction is another label, and then fully, as if the classifier said 0 or 1.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import torch
from torch import Tensor

from brittle.measures.answers import Answers
from brittle.measures.base import BadAnswer
from brittle.measures.changes import GivenTheta
from brittle.measures.outcomes import Outcome, outcome
from brittle.random import fold, normal
from brittle.samplers.langevin import CALLS_OF_A_GRADIENT
from brittle.samplers.target import Evaluation, PriorDraws, standard_normal
from brittle.types import Batch, Classifier, Differentiable, ExchangeableParts, Nuisance

CELL = -2  # the stream that says where in its cell a θ lies


def log_likelihood(seen: Outcome, failing: bool) -> Tensor:
    """log p(not ℓ | T_θ x), float64; with `failing` 0 where the prediction is another label and −∞ elsewhere."""
    likelihood = seen.log_p_other.double()
    return torch.zeros_like(likelihood).masked_fill(seen.rank == 0, -torch.inf) if failing else likelihood


@dataclass(frozen=True)
class Posterior:
    """The weak points of one classifier on a block of images under one nuisance.

    Positions are z where the nuisance, or each of its parts, has a latent form and `space` is "latent", θ otherwise.
    What is remembered of each position are its outcomes. Evaluation batches are padded to one size, so that the same
    images give the same chains in any order."""

    answers: Answers  # about B images
    name: str  # of the classifier
    labels: Tensor  # (B,) what counts as right
    keys: Tensor  # (B,) roots of what the sampler itself draws
    prior_keys: Tensor  # (B,) roots of the prior's draws, those of the measure `robustness`
    nuisance: Nuisance
    space: Literal["latent", "parameters"] = "latent"
    known: Outcome | None = None  # (B, m) outcomes of the prior's first m draws, where they are known already
    failing: bool = False  # p(θ | the prediction is not ℓ, x) ∝ [prediction ≠ ℓ] · p(θ | x) instead

    @property
    def batch(self) -> Batch:
        return self.answers.batch

    @property
    def classifier(self) -> Classifier:
        return self.answers.classifiers[self.name]

    @property
    def gaussian(self) -> bool:
        return self.parts == 1

    @property
    def parts(self) -> int:
        if self.space == "parameters":
            return 0
        return 1 if self._latent is not None else self._parted.parts(self.batch) if self._parted is not None else 0

    @property
    def size(self) -> int:
        return self._latent if self._latent is not None else int(self.nuisance.identity(self._one).shape[-1])

    @property
    def _latent(self) -> int | None:
        """The length of z where all of θ has a latent form."""
        return self.nuisance.latent(self.batch) if self.space == "latent" else None

    @property
    def _parted(self) -> ExchangeableParts | None:
        """The nuisance, where positions are the latent forms of its parts."""
        if self.space == "parameters" or self._latent is not None or not isinstance(self.nuisance, ExchangeableParts):
            return None
        return self.nuisance if self.nuisance.parts(self.batch) else None

    @property
    def hard(self) -> bool:
        return self.failing or "hard" in self.classifier.can

    @property
    def differentiable(self) -> bool:
        return self.nuisance.differentiable and isinstance(self.classifier, Differentiable) and not self.hard

    @property
    def _one(self) -> Batch:
        return self.batch.take(torch.zeros(1, dtype=torch.int64, device=self.batch.images.device))

    def draw(self, keys: Tensor) -> Tensor:
        if self._latent is not None:
            return normal(keys, self._latent)
        theta = self.nuisance.sample(self.batch, keys).double()
        return theta if self._parted is None else self._parted.to_parts(theta, fold(keys, CELL), self.batch)

    @property
    def measured(self) -> int:
        return 0 if self.known is None else self.known.rank.shape[1]

    def prior(self, count: int) -> PriorDraws:
        keys = fold(self.prior_keys[:, None], torch.arange(count, device=self.prior_keys.device))
        position = self.draw(keys)
        have = min(count, self.measured) if self._as_measured(keys[:1, :1]) else 0
        seen = [self.known.packed()[:, :have]] if self.known is not None and have else []
        if have < count:
            seen.append(self.evaluate(position[:, have:]).outcomes)
        return PriorDraws(position, self._evaluation_of(torch.cat(seen, 1)), count - have)

    def _as_measured(self, keys: Tensor) -> bool:
        """Whether there are measured draws, and positions of the prior's draws stand for the very θ of those keys."""
        if self.known is None:
            return False
        one = self.take(torch.zeros(1, dtype=torch.int64, device=keys.device))
        drawn = self.nuisance.sample(one.batch, keys)
        return bool(torch.allclose(one.theta(one.draw(keys)).to(drawn), drawn, atol=1e-6))

    def theta(self, position: Tensor) -> Tensor:
        """Positions (B, n, d) → θ (B, n, d′)."""
        if self._parted is not None:
            return self._parted.from_parts(position, self.batch)
        return self.nuisance.push(position, self.batch) if self.gaussian else position

    def log_prior(self, position: Tensor) -> Tensor | None:
        if self.gaussian:
            return -0.5 * position.square().sum(-1)
        if self._parted is not None:
            return standard_normal(position) + self._parted.log_coupling(self.theta(position), self.batch)
        found = self.nuisance.log_prior(position, self.batch)
        return None if found is None else found.double()

    def density(self, position: Tensor, theta: Tensor) -> Tensor:
        """log p(θ | x) (B, n); that of the position where θ itself has no density, NaN where neither has one."""
        found = self.nuisance.log_prior(theta.double(), self.batch)
        if found is None:
            found = self.log_prior(position)
        return torch.full_like(position[..., 0], torch.nan) if found is None else found.double()

    @torch.inference_mode()
    def evaluate(self, position: Tensor) -> Evaluation:
        images, count = position.shape[:2]
        rows = torch.arange(images, device=position.device).repeat_interleave(count)
        theta = self.theta(position).to(self.batch.images.dtype).flatten(0, 1)
        right = {self.name: self.labels}
        said = self.answers.all(rows, {"theta": theta}, GivenTheta(self.nuisance), right, padded=True, stays=True)
        return self._evaluation(said.outcomes[self.name]().packed().view(images, count, -1), theta)

    def _evaluation(self, record: Tensor, theta: Tensor) -> Evaluation:
        seen = Outcome.unpacked(record)
        bad = seen.log_p_other.isnan() | seen.log_p_label.isnan()
        if bad.any():
            row = int(bad.flatten().int().argmax())
            raise BadAnswer(row // record.shape[1], "NaN or infinite outputs", theta=theta.flatten(0, -2)[row])
        return self._evaluation_of(record)

    def _evaluation_of(self, record: Tensor) -> Evaluation:
        """Packed outcomes (B, n, 5), with the log-likelihood that samplers look at."""
        return Evaluation(log_likelihood(Outcome.unpacked(record), self.failing), record)

    def evaluate_with_gradient(self, position: Tensor) -> tuple[Evaluation, Tensor]:
        images, count = position.shape[:2]
        rows = torch.arange(images, device=position.device).repeat_interleave(count)
        found, gradients = [], []
        for part in self.answers.parts(rows, {"position": position.flatten(0, 1)}, padded=True):
            chosen = self.batch.take(part.rows)
            with torch.enable_grad():
                moving = part.at["position"].detach().requires_grad_()
                theta = self.nuisance.push(moving[:, None], chosen)[:, 0] if self.gaussian else moving
                images_there = self.nuisance.apply(chosen, theta.to(self.batch.images.dtype))
                seen = outcome(self.classifier.log_probs(images_there), self.labels[part.rows])
                (gradient,) = torch.autograd.grad(seen.log_p_other.sum(), moving)
            found.append(seen.packed().detach()[: part.own])
            self.answers.tick(CALLS_OF_A_GRADIENT * part.own)
            gradients.append(gradient[: part.own])
        seen_there = self._evaluation(torch.cat(found).view(images, count, -1), self.theta(position))
        return seen_there, torch.cat(gradients).view_as(position).nan_to_num()

    def take(self, images: Tensor) -> Posterior:
        return replace(
            self,
            answers=self.answers.of(self.batch.take(images)),
            labels=self.labels[images],
            keys=self.keys[images],
            prior_keys=self.prior_keys[images],
            known=None if self.known is None else self.known.take(images),
        )

    def with_measured_draws(self, drawn: PriorDraws) -> Posterior:
        if drawn.position.shape[1] <= self.measured:
            return self
        return replace(self, known=Outcome.unpacked(drawn.evaluation.outcomes))
