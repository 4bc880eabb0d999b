"""An engine with a prefix cache: a prompt that comes again is not read again.

vLLM and SGLang share blocks of tokens among all prompts; this one keeps whole prompts.
"""

import torch
from torch import Tensor, nn
from torch.nn.functional import pad
from transformers import DynamicCache

from course_utils.reproductions.lesson_09.engine import Engine, Ids

Layers = list[tuple[Tensor, Tensor]]  # keys and values of one prompt, (1, heads, tokens, width)


class CachingEngine(Engine):
    """Keeps the keys and values of each prompt but its last token, which is always read.

    Args:
        clears: whether new weights empty the cache.
    """

    def __init__(self, *, clears: bool, **settings: object) -> None:
        super().__init__(**settings)
        self.generator, self.clears = torch.default_generator, clears
        self.known: dict[tuple[int, ...], Layers] = {}

    def sync(self, policy: nn.Module) -> None:
        super().sync(policy)
        if self.clears:
            self.known.clear()

    def begin(self, asked: Ids, padded_BP: Tensor) -> tuple[DynamicCache, Tensor]:
        rows = [self._read(tuple(prompt)) for prompt in asked]
        cache, width = DynamicCache(), padded_BP.size(1) - 1
        for number, layers in enumerate(zip(*rows, strict=True)):
            keys, values = (
                torch.cat([pad(x, (0, 0, width - x.size(2), 0)) for x in side])
                for side in zip(*layers, strict=True)
            )
            cache.update(keys, values, number)
        return cache, padded_BP[:, -1:]

    def _read(self, prompt: tuple[int, ...]) -> Layers:
        if prompt not in self.known:
            ids = torch.tensor([prompt[:-1]])
            cache = self.model(input_ids=ids, use_cache=True).past_key_values
            self.known[prompt] = [(layer.keys, layer.values) for layer in cache.layers]
        return self.known[prompt]
