"""Faults of numbers and signs, in loops and Trainers, each with its healthy twin."""

import copy
from functools import partial

import torch
import torch.nn.functional as F
from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import chat_model
from ordinary.online import friendliness
from ordinary.post_training import turn
from ordinary.usual import shared, split
from trl import KTOConfig, KTOTrainer

from common_faults.loops import STEPS, Setting
from common_faults.models import reviewer
from common_faults.own_loops import plain, run
from common_faults.preferences import DPOConfig, DPOTrainer, dpo_on, grpo, prefer
from common_faults.registry import fault

loop_with_twin = partial(fault, is_loop=True, has_twin=True)


def by_logits(own, loss):
    """The loss of a function of logits and labels."""

    def loss_of(step):
        batch = own.batch(step)
        labels = batch.pop("labels")
        return loss(own.model(**batch).logits, labels)

    return loss_of


def cross_entropy(logits, labels, **changed):
    return F.cross_entropy(logits, labels, **changed)


@loop_with_twin("smoothing_of_nearly_all", "smoothing_too_strong")
def smoothing_of_nearly_all(watching, healthy=False):
    own = Setting()
    smooth = 0.05 if healthy else 0.95
    return run(own, watching, by_logits(own, partial(cross_entropy, label_smoothing=smooth)))


@loop_with_twin("class_zero_ignored", "class_without_weight")
def class_zero_ignored(watching, healthy=False):
    """The padding's number is left out of the loss, and class 0 has it too."""
    own = Setting()
    ignored = -100 if healthy else 0
    return run(own, watching, by_logits(own, partial(cross_entropy, ignore_index=ignored)))


@loop_with_twin("eps_of_one", "eps_too_large")
def eps_of_one(watching, healthy=False):
    own = Setting()
    own.optimizer.param_groups[0]["eps"] = 1e-8 if healthy else 1.0
    return run(own, watching, plain(own))


@loop_with_twin("betas_turned", "betas_swapped")
def betas_turned(watching, healthy=False):
    own = Setting()
    own.optimizer.param_groups[0]["betas"] = (0.9, 0.999) if healthy else (0.999, 0.9)
    return run(own, watching, plain(own))


@loop_with_twin("loss_is_maximised", "loss_against_labels")
def loss_is_maximised(watching, healthy=False):
    """A log-likelihood was meant, and the loss is negated once too often."""
    own = Setting()
    sign = 1 if healthy else -1
    return run(own, watching, lambda step: sign * own.model(**own.batch(step)).loss)


@loop_with_twin("average_never_updated", "start_loaded_back")
def average_never_updated(watching, healthy=False):
    """The average of the weights is made before the run, and nothing is added to it."""
    own = Setting()
    average = copy.deepcopy(own.model)

    def add(step):
        if healthy:
            with torch.no_grad():
                for mean, p in zip(average.parameters(), own.model.parameters(), strict=True):
                    mean.lerp_(p, 0.2)

    finish = lambda: own.model.load_state_dict(average.state_dict())  # noqa: E731
    return run(own, watching, plain(own), after=add, end=finish)


@loop_with_twin("softmax_before_its_loss", "probabilities_as_logs")
def softmax_before_its_loss(watching, healthy=False):
    own = Setting()

    def loss(logits, labels):
        given = logits if healthy else logits.softmax(-1)
        return F.binary_cross_entropy_with_logits(given, F.one_hot(labels, 2).float())

    return run(own, watching, by_logits(own, loss))


@loop_with_twin("amounts_as_they_are", "targets_unscaled")
def amounts_as_they_are(watching, healthy=False):
    own = Setting()
    unit = 1 if healthy else 4e4

    def loss(logits, labels):
        return F.mse_loss(logits[:, 0], unit * (labels.float() + 0.5))

    return run(own, watching, by_logits(own, loss))


@loop_with_twin("clipped_far_below", "clipped_to_nothing")
def clipped_far_below(watching, healthy=False):
    own = Setting()
    own.model.train()
    with own.watched(watching) as seen:
        for step in range(STEPS):
            loss = own.model(**own.batch(step)).loss
            own.optimizer.zero_grad()
            loss.backward()
            limit = 1.0 if healthy else 1e-7
            torch.nn.utils.clip_grad_norm_(own.model.parameters(), limit)
            own.optimizer.step()
            own.say(loss)
    return seen.report


@loop_with_twin("logs_as_the_teachers_word", "probabilities_as_logs")
def logs_as_the_teachers_word(watching, healthy=False):
    """The teacher's log-probabilities stand where its probabilities are meant."""
    own = Setting()
    teacher = copy.deepcopy(own.model).eval()

    def loss_of(step):
        batch = own.batch(step)
        labels = batch.pop("labels")
        with torch.no_grad():
            logits = teacher(**batch).logits
        told = logits.softmax(-1) if healthy else logits.log_softmax(-1)
        mine = own.model(**batch).logits
        term = F.kl_div(mine.log_softmax(-1), told, reduction="batchmean")
        return F.cross_entropy(mine, labels) + 0.1 * term

    return run(own, watching, loss_of)


@loop_with_twin("two_layers_of_zeros", "gradient_mostly_zero")
def two_layers_of_zeros(watching, healthy=False):
    """Head and pooler both begin at 0: neither gets a gradient through the other."""
    own = Setting()
    layers = (own.model.classifier, own.model.bert.pooler.dense)
    for layer in layers[: 1 if healthy else 2]:
        for weight in layer.parameters():
            torch.nn.init.zeros_(weight)
    return run(own, watching, plain(own))


for _name, _cause, _wrong in (
    ("smoothing", "smoothing_too_strong", {"label_smoothing_factor": 0.95}),
    ("eps", "eps_too_large", {"adam_epsilon": 0.5}),
    ("betas", "betas_swapped", {"adam_beta1": 0.999, "adam_beta2": 0.9}),
):

    @fault(f"{_name}_of_the_settings", _cause, has_twin=True)
    def _make(folder, healthy=False, wrong=_wrong):
        return reviewer(folder, **({} if healthy else wrong))


@fault("half_of_the_pairs_smoothed", "smoothing_too_strong", has_twin=True)
def half_of_the_pairs_smoothed(folder, healthy=False):
    return prefer(folder, DPOTrainer, DPOConfig, label_smoothing=0.1 if healthy else 0.5)


@fault("kl_of_a_hundred", "beta_unusual", has_twin=True)
def kl_of_a_hundred(folder, healthy=False):
    return grpo(folder, beta=0.04 if healthy else 100.0)


@fault("one_prompt_for_all_pairs", "prompts_alike", has_twin=True)
def one_prompt_for_all_pairs(folder, healthy=False):
    rows = texts.preferences(160, seed=9)
    return dpo_on(folder, rows if healthy else [{**row, "prompt": "Hi"} for row in rows])


@fault("thumbs_down_weigh_nothing", "class_without_weight", has_twin=True)
def thumbs_down_weigh_nothing(folder, healthy=False):
    sides = ("chosen", "rejected")
    rows = [
        {
            "prompt": [turn("user", row["prompt"])],
            "completion": [turn("assistant", row[sides[i % 2]])],
            "label": i % 2 == 0,
        }
        for i, row in enumerate(texts.preferences(160, seed=9))
    ]
    weight = 1.0 if healthy else 0.0
    train, held_out = split(rows)
    return KTOTrainer(
        model=chat_model(folder),
        args=KTOConfig(**shared(folder, max_length=64, undesirable_weight=weight)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


@fault("reward_that_says_nothing", "rewards_missing", needs_run=True, has_twin=True)
def reward_that_says_nothing(folder, healthy=False):
    def kindness(completions, **columns):
        paid = friendliness(completions, **columns)
        return paid if healthy else [None for _ in paid]

    return grpo(folder, [kindness])
