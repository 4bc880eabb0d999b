"""The pictures of lessons 04 and 05 say what the data says, and no more than that."""

import pytest
import torch

from course_utils import zoo
from course_utils.concepts import lesson_04, lesson_05
from course_utils.reproductions.lesson_04.verl_grpo import Settings
from course_utils.reproductions.lesson_04.verl_outcomes import Outcome, Outcomes
from course_utils.reproductions.lesson_05.gemma_layer import tensors_in_layer
from course_utils.shown import plotting
from course_utils.shown.figures import strict
from course_utils.shown.figures.faults import refuse_faults


@pytest.fixture
def shown(monkeypatch):
    """What is shown: the words in each picture, its caption, its alt text; a fault raises."""
    words, seen = [], []

    def refuse(fig):
        words.append([text.get_text() for ax in fig.axes for text in ax.texts])
        refuse_faults(fig)

    def display(picture):
        seen.append((words[-1], picture._caption, picture._alt))

    monkeypatch.setenv(strict.ENV_NAME, "1")
    monkeypatch.setattr(plotting, "refuse_faults", refuse)
    monkeypatch.setattr(plotting, "display", display)
    return seen


def test_the_step_is_drawn_with_the_numbers_of_the_run(shown):
    lesson_04.one_step(Settings(num_prompts=3, n=4, ppo_mini_batch_size=6))
    [(words, caption, _)] = shown
    assert {"prompts\n3 sums", "replies\n12 x 16 tokens", "2 updates, 6 replies each"} <= set(words)
    assert "4 tensors" in caption


def test_a_link_of_the_chain_that_is_not_known_is_open(shown):
    lesson_04.chain({"reply": "!!!!"})
    [(words, caption, _)] = shown
    assert words.count("?") == len(lesson_04.LINKS) - 1
    assert "5 of 6 are still open" in caption


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


def test_a_row_of_the_fixes_is_cured_only_with_finite_gradients(shown):
    lives = Outcome(12, 0, 0, is_dead=False, first_score=0.4, last_score=0.6)
    skips = Outcome(12, 1, 1, is_dead=False, first_score=0.4, last_score=0.6)
    lesson_04.what_each_fix_does(Outcomes({"a bound": lives, "a guard": skips}))
    [(_, caption, alt)] = shown
    assert caption == "Every gradient is finite in 1 of 2 runs: a bound."
    assert "a guard: nan, skipped, alive, rises" in alt


def test_curves_are_told_by_their_ends(shown):
    lesson_04.before_and_after({"fixed": [0.4, 0.6], "as it came": [0.4, 0.0]}, x="updates", y="x")
    update = {"largest at padding": 0.0, "largest at tokens": 0.0}
    lesson_04.drift([update, {"largest at padding": 12.0, "largest at tokens": 2.0}], "float16")
    lesson_05.scales({"plain": [8.0, 8.0], "sick": [8.0, 4.0], "small stream": [8.0, 4.0]})
    lesson_05.off_float32({"bfloat16": [0.1, 0.02], "rescaled float16": [0.001, 0.002]}, 0.2)
    captions = [caption for _, caption, _ in shown]
    assert "fixed from 40% to 60%; as it came ends at 0%" in captions[0]
    assert "padding reaches 12.0 nats; no token ever went past 2.0" in captions[1]
    assert captions[2].endswith("plain 0, sick 1, small stream 1.")
    assert captions[3].endswith("bfloat16 50%, rescaled float16 1%.")
