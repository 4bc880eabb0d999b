"""The small classifier of lesson 06's snippets, data and an adapter for it. Never trains."""

import tempfile

import torch
from torch import Tensor, nn


def seeded(build, seed: int = 0):
    """Build with torch's random state set to `seed` and put back after."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return build()


class Classifier(nn.Module):
    """A body and a head: 4 features in, logits of 3 classes out.

    Args:
        depth: number of layers in the body.
    """

    def __init__(self, depth: int = 1) -> None:
        super().__init__()
        deeper = [part for _ in range(depth - 1) for part in (nn.Linear(8, 8), nn.Tanh())]
        self.body = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), *deeper)
        self.head = nn.Linear(8, 3)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.body(x))


def classifier(seed: int = 0, depth: int = 1) -> Classifier:
    """The classifier, the same at every call with one seed."""
    return seeded(lambda: Classifier(depth), seed)


def examples(num: int = 6, seed: int = 0) -> tuple[Tensor, Tensor]:
    """Features of shape (num, 4), and classes from 0 to 2 of shape (num,).

    >>> examples(4)[1]
    tensor([0, 1, 2, 0])
    """
    x = seeded(lambda: torch.randn(num, 4), seed)
    return x, (torch.arange(num) + seed) % 3


def saved_adapter() -> tempfile.TemporaryDirectory:
    """A folder, kept as long as what is returned, with a LoRA adapter of the classifier's body."""
    from peft import LoraConfig, get_peft_model  # takes seconds, and only one snippet loads it

    folder = tempfile.TemporaryDirectory(prefix="course-adapter-")
    lora = LoraConfig(r=2, target_modules=["body.0"])
    get_peft_model(classifier(), lora).save_pretrained(folder.name)
    return folder
