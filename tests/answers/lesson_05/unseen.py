"""Right and wrong answers of exercise 05.8."""

import torch
from torch.nn.functional import cross_entropy

from course_utils.exercises.lesson_05 import mended_run, unseen
from course_utils.exercises.lesson_05.unseen import PREFIX, _mlp, weights_in_float32
from tests.answers.forms import mends_of

channel = mends_of(unseen.CHANNEL)
weights = mends_of(unseen.WEIGHTS)


@channel.wrong(caught_by=mended_run.follows_float32)
@weights.wrong(caught_by=mended_run.follows_float32)
def leave(trainer):
    """Not a mend."""


@channel.wrong(caught_by=mended_run.follows_float32)
@weights.wrong(caught_by=mended_run.follows_float32)
def turn_the_rate_down(trainer):
    trainer.args.learning_rate = 1e-6


@channel.wrong(caught_by=mended_run.nothing_else_is_changed)
def turn_fp16_off(trainer):
    trainer.accelerator.native_amp = False


@channel.wrong(caught_by=mended_run.follows_float32)
def take_the_scaler_away(trainer):
    trainer.accelerator.scaler = None


@channel.wrong(caught_by=mended_run.products_stay_in_half)
def without_autocast(trainer):
    forward = trainer.model.forward

    def in_float32(*args, **kwargs):
        with torch.autocast("cpu", enabled=False):
            return forward(*args, **kwargs)

    trainer.model.forward = in_float32


@channel.wrong(caught_by=mended_run.follows_float32)
@weights.wrong(caught_by=mended_run.follows_float32)
def misspelt(trainer):
    trainer.model.get_submodule("model.layer.2")


@channel.right
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


@channel.right
def scaled_in_the_forward(trainer):
    mlp = _mlp(trainer)
    mlp.forward = lambda x: mlp.down_proj(mlp.act_fn(mlp.gate_proj(x)) * (mlp.up_proj(x) / 16)) * 16


@channel.wrong(caught_by=mended_run.runs_without_bfloat16)
def one_mlp_in_bfloat16(trainer):
    mlp = _mlp(trainer)
    forward = mlp.forward

    def in_bfloat16(x):
        with torch.autocast("cpu", torch.bfloat16):
            return forward(x)

    mlp.forward = in_bfloat16


@channel.wrong(caught_by=mended_run.learns_as_float32)
def mlp_without_gradient(trainer):
    """The numbers are right; no gradient comes back to what went into the MLP."""
    scaled_in_the_forward(trainer)
    mlp = _mlp(trainer)
    mlp.forward = lambda x, forward=mlp.forward: forward(x.detach())


@channel.wrong(caught_by=mended_run.learns_as_float32)
def mlp_with_the_gradient_of_its_input(trainer):
    scaled_in_the_forward(trainer)
    mlp = _mlp(trainer)
    mlp.forward = lambda x, forward=mlp.forward: forward(x).detach() + x - x.detach()


@channel.wrong(caught_by=mended_run.follows_float32)
def clamp_the_product(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].clamp(-65504, 65504),))


@channel.wrong(caught_by=mended_run.follows_float32)
def replace_what_is_not_finite(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].nan_to_num(0, 0, 0),))


@channel.wrong(caught_by=mended_run.follows_float32)
def cast_after_the_product(trainer):
    _mlp(trainer).down_proj.register_forward_pre_hook(lambda _m, x: (x[0].float(),))


@channel.wrong(caught_by=mended_run.follows_float32)
@torch.no_grad()
def quiet_without_compensation(trainer):
    _mlp(trainer).up_proj.weight.mul_(2.0**-12)


@weights.right
def weights_by_the_mean(trainer):
    trainer.token_weights = lambda nll: nll**3 / (nll**3).mean() / len(nll)


def weights_of_smaller_numbers(trainer):
    def token_weights(nll):
        hard = (nll / nll.max()) ** 3
        return hard / hard.sum()

    trainer.token_weights = token_weights


@weights.wrong(caught_by=mended_run.runs_without_bfloat16)
def weights_by_a_size_in_bfloat16(trainer):
    def token_weights(nll):
        hard = (nll.float() / nll.max().bfloat16()) ** 3
        return hard / hard.sum()

    trainer.token_weights = token_weights


@weights.wrong(caught_by=mended_run.follows_float32)
def all_tokens_alike(trainer):
    trainer.token_weights = lambda nll: torch.ones_like(nll) / len(nll)


@weights.wrong(caught_by=mended_run.follows_float32)
def weights_by_squares(trainer):
    trainer.token_weights = lambda nll: nll**2 / (nll**2).sum()


@weights.wrong(caught_by=mended_run.follows_float32)
def weights_by_exp(trainer):
    trainer.token_weights = lambda nll: nll.exp() / nll.exp().sum()


@weights.wrong(caught_by=mended_run.follows_float32)
def sum_clamped(trainer):
    trainer.token_weights = lambda nll: nll**3 / (nll**3).sum().clamp(max=65504)


@weights.wrong(caught_by=mended_run.follows_float32)
def cast_after_the_sum(trainer):
    own = trainer.token_weights
    trainer.token_weights = lambda nll: own(nll).float()


@weights.wrong(caught_by=mended_run.products_stay_in_half)
def weights_right_and_all_in_float32(trainer):
    weights_in_float32(trainer)
    without_autocast(trainer)


@weights.wrong(caught_by=mended_run.nothing_else_is_changed)
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


@weights.right
def loss_of_its_own(trainer):
    _with_loss(trainer, _weighted)


@weights.wrong(caught_by=mended_run.learns_as_float32)
def loss_without_gradient(trainer):
    """Logs the right loss at step 1; nothing is ever trained."""
    _with_loss(trainer, lambda nll_N: _weighted(nll_N).detach() + 0 * nll_N.mean())


@weights.wrong(caught_by=mended_run.learns_as_float32)
def loss_with_the_gradient_of_the_mean(trainer):
    def loss_of(nll_N):
        return nll_N.mean() + (_weighted(nll_N) - nll_N.mean()).detach()

    _with_loss(trainer, loss_of)


@weights.wrong(caught_by=mended_run.learns_as_float32)
def loss_with_gradient_through_the_weights(trainer):
    _with_loss(trainer, lambda nll_N: (nll_N**3 / (nll_N**3).sum() * nll_N).sum())


MALFORMED = ({"cause": "float16"}, {"place": "the third layer"}, {"fix": "bf16"})

channel.right({"place": "layers.2.mlp"})
channel.right_in_capitals(
    {
        "place": f"output of {PREFIX}model.layers.2.mlp",
        "cause": " D",
        "fix": one_mlp_in_float32,
    }
)
channel.wrong(
    {"place": "model.layers.3.input_layernorm", "cause": "d", "fix": leave},
    caught_by=unseen.place_is_found,
)
channel.wrong(
    {"place": "model.embed_tokens", "cause": "b", "fix": leave}, caught_by=unseen.place_is_found
)
channel.wrong({"place": "loss", "cause": "f", "fix": leave}, caught_by=unseen.place_is_found)
for part in ("gate_proj", "act_fn", "up_proj"):
    channel.wrong(
        {"place": f"model.layers.2.mlp.{part}", "cause": "d", "fix": leave},
        caught_by=unseen.place_is_found,
    )
channel.right({"place": "input of model.layers.2.mlp.down_proj"})
channel.misdiagnoses(
    malformed=MALFORMED,
    place=unseen.ASKED.diagnosis[0].observe,
    cause=unseen.ASKED.diagnosis[-1].observe,
)
weights.right({"place": "Loss"})
weights.right_in_capitals(
    {"place": f"output of {PREFIX}loss", "cause": " F", "fix": weights_of_smaller_numbers}
)
weights.wrong(
    {"place": "model.layers.1", "cause": "b", "fix": leave}, caught_by=unseen.place_is_found
)
weights.wrong(
    {"place": "model.embed_tokens", "cause": "c", "fix": leave}, caught_by=unseen.place_is_found
)
weights.wrong({"place": "lm_head", "cause": "e", "fix": leave}, caught_by=unseen.place_is_found)
weights.misdiagnoses(
    malformed=MALFORMED,
    place=unseen.ASKED.diagnosis[0].observe,
    cause=unseen.ASKED.diagnosis[-1].observe,
)
