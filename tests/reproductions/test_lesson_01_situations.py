"""Lesson 01's situations say the same of a simulated format as of torch's own. About 2 s."""

from dataclasses import dataclass

import pytest
import torch

from course_utils.exercises.lesson_01.situations import NARROW, SITUATIONS, WIDE, survives


@dataclass(frozen=True)
class ByCasting:
    """Rounds as torch casts, where a FloatFormat rounds by its bits."""

    dtype: torch.dtype

    def round(self, x: float) -> float:
        return torch.tensor(x, dtype=torch.float64).to(self.dtype).item()


@pytest.mark.parametrize("letter", SITUATIONS)
@pytest.mark.parametrize("name", [*NARROW, WIDE])
def test_a_situation_ends_alike_in_a_simulated_format_and_in_torchs(letter, name):
    assert survives(letter, name) == SITUATIONS[letter](ByCasting(getattr(torch, name)))


@pytest.mark.parametrize("letter", SITUATIONS)
def test_each_situation_tells_the_formats_apart(letter):
    assert survives(letter, WIDE)
    assert not all(survives(letter, name) for name in NARROW)
