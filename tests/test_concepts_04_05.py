"""The pictures of lessons 04 and 05 say what the data says, and no more than that."""

import pytest
import torch

from course_utils import plotting, zoo
from course_utils.concepts import lesson_04, lesson_05
from course_utils.reproductions.gemma_layer import tensors_in_layer


@pytest.fixture
def shown(monkeypatch):
    """What would have been shown: the words in each picture, its caption, its alt text."""
    seen = []

    def show(fig, caption, *, alt=""):
        words = [text.get_text() for ax in fig.axes for text in ax.texts]
        seen.append((words, caption, alt))
        plotting.plt.close(fig)

    monkeypatch.setattr(plotting, "show", show)
    return seen


def test_a_link_of_the_chain_that_is_not_known_is_open(shown):
    lesson_04.chain({"reply": "!!!!"})
    [(words, caption, _)] = shown
    assert words.count("?") == len(lesson_04.LINKS) - 1
    assert "5 of 6 are open" in caption


@pytest.mark.parametrize(("d", "num_nan"), [(11.0, 0), (12.0, 1)])
def test_the_gradient_at_padding_is_nan_only_beyond_the_limit_of_exp(d, num_nan, shown):
    lesson_04.there_and_back(d, torch.float16)
    [(words, _, alt)] = shown
    assert words.count("nan") == num_nan
    assert ("inf" in words) == bool(num_nan)
    assert f"d: {d:g}" in alt


def test_a_token_beyond_the_limit_is_not_counted_as_padding(shown):
    log_ratio = torch.zeros(2, 3, dtype=torch.float16)
    log_ratio[0, 0] = log_ratio[1, 2] = 12.0  # a token, and padding
    lesson_04.log_ratios(log_ratio, torch.tensor([[1, 1, 1], [1, 0, 0]]))
    [(_, caption, alt)] = shown
    assert caption.startswith("2 places beyond 11.09, 1 of them padding")
    assert "2 replies by 3 positions" in alt


def test_the_first_picture_of_a_layer_gives_no_format_away(shown):
    lesson_05.one_layer()
    [(words, _, alt)] = shown
    assert "?" in words
    assert "float" not in "".join([*words, alt])


def test_the_picture_of_a_layer_names_the_first_place_that_is_not_finite(shown):
    places = ("stream in", "read by attention", "added by attention", "MLP", "added by MLP")
    tensors = {place: torch.ones(4) for place in places}
    tensors["MLP"] = torch.tensor([torch.inf, 1, 1, 1], dtype=torch.float16)
    tensors["added by MLP"] = torch.tensor([torch.nan, 1, 1, 1])
    lesson_05.one_layer(tensors)
    [(words, caption, _)] = shown
    assert "First not finite: MLP, 25% inf." in caption
    assert {"float16", "25% inf", "25% nan"} <= set(words)


def test_only_what_reaches_beyond_65504_is_called_too_large(shown):
    plain = {"norm": [3.0, 4.0], "MLP": [50.0, 60.0]}
    lesson_05.against_the_limit({"plain": plain, "sick": plain | {"norm": [1e5, 2e5]}})
    [(_, caption, alt)] = shown
    assert "limit in the sick model: norm. Within it, as in the plain one: MLP." in caption
    assert "sick model: norm 100000 to 200000; MLP 50 to 60" in alt


def test_the_tensors_of_a_layer_are_those_that_the_model_computes_and_no_hook_is_left():
    gemma = zoo.load_policy("tiny-gemma3", device="cpu")
    ids = torch.tensor([[1, 2, 3]])
    seen = tensors_in_layer(gemma, {"input_ids": ids}, torch.float16, layer=1)
    assert len(seen) == 9
    summed = seen["stream between"] + seen["added by MLP"]
    assert torch.equal(summed, seen["stream out"])
    assert not any(m._forward_hooks or m._forward_pre_hooks for m in gemma.modules())
