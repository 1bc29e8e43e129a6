"""Somebody's own nuisance."""

from dataclasses import dataclass

from brittle.extend import uniform


@dataclass(frozen=True)
class Dim:
    """A nuisance that no registry knows: the image darkened by a share drawn uniformly, of at most `most`."""

    most: float = 0.5
    parameters = ("share",)
    needs = frozenset()
    differentiable = True

    def check(self, shape):
        """Every image can be darkened."""

    def latent(self, batch):
        return None

    def sample(self, batch, keys):
        return uniform(keys, 1).to(batch.images.dtype)

    def push(self, z, batch):
        raise NotImplementedError

    def identity(self, batch):
        return batch.images.new_zeros(len(batch.images), 1)

    def log_prior(self, theta, batch):
        return None

    def at(self, theta, severity, batch):
        return theta * severity

    def apply(self, batch, theta):
        return batch.images * (1 - self.most * theta[:, :, None, None])

    def describe(self, height, width):
        return f"darkened by {self.most / 2:g} on average"
