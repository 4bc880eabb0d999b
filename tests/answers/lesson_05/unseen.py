"""Right and wrong answers of exercise 05.8."""

import torch
from torch.nn.functional import cross_entropy

from course_utils.exercises.lesson_05.unseen import (
    CHANNEL,
    FOLLOWS,
    HELD,
    IN_HALF,
    LEARNS,
    PREFIX,
    WEIGHTS,
    _mlp,
    quiet_the_channel,
    weights_in_float32,
)
from tests.answers import answers_of


def leave(trainer):
    """Not a mend."""


def turn_the_rate_down(trainer):
    trainer.args.learning_rate = 1e-6


def turn_fp16_off(trainer):
    trainer.accelerator.native_amp = False


def take_the_scaler_away(trainer):
    trainer.accelerator.scaler = None


def without_autocast(trainer):
    forward = trainer.model.forward

    def in_float32(*args, **kwargs):
        with torch.autocast("cpu", enabled=False):
            return forward(*args, **kwargs)

    trainer.model.forward = in_float32


def misspelt(trainer):
    trainer.model.get_submodule("model.layer.2")


@torch.no_grad()
def quiet_all_channels(trainer):
    mlp = _mlp(trainer)
    mlp.up_proj.weight.mul_(2.0**-6)
    mlp.down_proj.weight.mul_(2.0**6)


def one_mlp_in_float32(trainer):
    mlp = _mlp(trainer)
    forward = mlp.forward

    def in_float32(x):
        with torch.autocast("cpu", enabled=False):
            return forward(x.float())

    mlp.forward = in_float32


def scaled_in_the_forward(trainer):
    mlp = _mlp(trainer)
    mlp.forward = lambda x: mlp.down_proj(mlp.act_fn(mlp.gate_proj(x)) * (mlp.up_proj(x) / 16)) * 16


def mlp_without_gradient(trainer):
    """The numbers are right; no gradient comes back to what went into the MLP."""
    scaled_in_the_forward(trainer)
    mlp = _mlp(trainer)
    mlp.forward = lambda x, forward=mlp.forward: forward(x.detach())


def mlp_with_the_gradient_of_its_input(trainer):
    scaled_in_the_forward(trainer)
    mlp = _mlp(trainer)
    mlp.forward = lambda x, forward=mlp.forward: forward(x).detach() + x - x.detach()


def clamp_the_product(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].clamp(-65504, 65504),))


def replace_what_is_not_finite(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].nan_to_num(0, 0, 0),))


def cast_after_the_product(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].float(),))


@torch.no_grad()
def quiet_without_compensation(trainer):
    _mlp(trainer).up_proj.weight.mul_(2.0**-12)


def weights_by_the_mean(trainer):
    trainer.token_weights = lambda nll: nll**3 / (nll**3).mean() / len(nll)


def weights_of_smaller_numbers(trainer):
    def token_weights(nll):
        hard = (nll / nll.max()) ** 3
        return hard / hard.sum()

    trainer.token_weights = token_weights


def all_tokens_alike(trainer):
    trainer.token_weights = lambda nll: torch.ones_like(nll) / len(nll)


def weights_by_squares(trainer):
    trainer.token_weights = lambda nll: nll**2 / (nll**2).sum()


def weights_by_exp(trainer):
    trainer.token_weights = lambda nll: nll.exp() / nll.exp().sum()


def sum_clamped(trainer):
    trainer.token_weights = lambda nll: nll**3 / (nll**3).sum().clamp(max=65504)


def cast_after_the_sum(trainer):
    own = trainer.token_weights
    trainer.token_weights = lambda nll: own(nll).float()


def weights_right_and_all_in_float32(trainer):
    weights_in_float32(trainer)
    without_autocast(trainer)


def weights_right_at_another_rate(trainer):
    weights_in_float32(trainer)
    trainer.args.learning_rate = 1.01e-3


def _with_loss(trainer, loss_of):
    """Let the trainer's loss be `loss_of` the tokens' losses, in float32 and with their graph."""

    def compute_loss(model, inputs, return_outputs=False, **kwargs):
        outputs = model(**inputs)
        targets = inputs["labels"][:, 1:]
        nll = cross_entropy(outputs.logits[:, :-1].mT.float(), targets, reduction="none")
        loss = loss_of(nll[targets != -100])
        return (loss, outputs) if return_outputs else loss

    trainer.compute_loss = compute_loss


def _weighted(nll_N):
    hard_N = nll_N.detach() ** 3
    return (hard_N / hard_N.sum() * nll_N).sum()


def loss_of_its_own(trainer):
    _with_loss(trainer, _weighted)


def loss_without_gradient(trainer):
    """Logs the right loss at step 1; nothing is ever trained."""
    _with_loss(trainer, lambda nll_N: _weighted(nll_N).detach() + 0 * nll_N.mean())


def loss_with_the_gradient_of_the_mean(trainer):
    def loss_of(nll_N):
        return nll_N.mean() + (_weighted(nll_N) - nll_N.mean()).detach()

    _with_loss(trainer, loss_of)


def loss_with_gradient_through_the_weights(trainer):
    _with_loss(trainer, lambda nll_N: (nll_N**3 / (nll_N**3).sum() * nll_N).sum())


def _add(exercise, mends: tuple, bad_mends: tuple, misled: tuple) -> None:
    """`misled` are pairs of a wrong place and a wrong cause."""
    right, wrong = answers_of(exercise)
    good, form = exercise.answer, exercise.form
    place, cause = (criterion.observe for criterion in exercise.criteria[:2])
    right_place, letter = good["place"], good["cause"]
    short = {"loss": "Loss"}.get(right_place, right_place.removeprefix("model."))
    for mend in mends[1:-1]:
        right(good | {"mend": mend})
    right(good | {"place": short})
    far = {"place": f"output of {PREFIX}{right_place}", "cause": f" {letter.upper()}"}
    right(good | far | {"mend": mends[-1]})
    for where, why in misled:
        wrong({"place": where, "cause": why, "mend": leave}, caught_by=place)
    wrong(good | {"cause": "b", "mend": leave}, caught_by=cause)
    for mend, look in bad_mends:
        wrong(good | {"mend": mend}, caught_by=look)
    wrong({"place": right_place, "cause": letter}, caught_by=form)
    for change in ({"cause": "float16"}, {"place": "the third layer"}, {"mend": "bf16"}):
        wrong(good | change, caught_by=form)


_add(
    CHANNEL,
    (quiet_the_channel, quiet_all_channels, scaled_in_the_forward, one_mlp_in_float32),
    (
        (leave, FOLLOWS),
        (turn_the_rate_down, FOLLOWS),
        (take_the_scaler_away, FOLLOWS),
        (misspelt, FOLLOWS),
        (cast_after_the_product, FOLLOWS),
        (clamp_the_product, FOLLOWS),
        (replace_what_is_not_finite, FOLLOWS),
        (quiet_without_compensation, FOLLOWS),
        (mlp_without_gradient, LEARNS),
        (mlp_with_the_gradient_of_its_input, LEARNS),
        (turn_fp16_off, HELD),
        (without_autocast, IN_HALF),
    ),
    (("model.layers.3.input_layernorm", "d"), ("model.embed_tokens", "b"), ("loss", "f")),
)
_add(
    WEIGHTS,
    (
        weights_in_float32,
        weights_by_the_mean,
        loss_of_its_own,
        weights_of_smaller_numbers,
    ),
    (
        (leave, FOLLOWS),
        (turn_the_rate_down, FOLLOWS),
        (misspelt, FOLLOWS),
        (weights_by_exp, FOLLOWS),
        (all_tokens_alike, FOLLOWS),
        (weights_by_squares, FOLLOWS),
        (sum_clamped, FOLLOWS),
        (cast_after_the_sum, FOLLOWS),
        (loss_without_gradient, LEARNS),
        (loss_with_the_gradient_of_the_mean, LEARNS),
        (loss_with_gradient_through_the_weights, LEARNS),
        (weights_right_at_another_rate, HELD),
        (weights_right_and_all_in_float32, IN_HALF),
    ),
    (("model.layers.1", "b"), ("model.embed_tokens", "c"), ("lm_head", "e")),
)
