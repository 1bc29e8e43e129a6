"""Images of one grey each, from black to white."""

from dataclasses import dataclass
from typing import ClassVar

import torch

from brittle.extend import image_set, option, register_image_set


@register_image_set("greys")
@dataclass(frozen=True)
class Greys:
    """Images of one grey each, from black to white: dark or bright."""

    runs_code: ClassVar = False

    count: int = option(40, "how many images", least=2)
    side: int = option(8, "pixels per side", least=1)

    def load(self):
        grey = (torch.arange(self.count) + 0.5) / self.count
        images = grey[:, None, None, None].expand(-1, 1, self.side, self.side)
        return image_set((images, (grey > 0.5).long()), name="greys", classes=("dark", "bright"))
