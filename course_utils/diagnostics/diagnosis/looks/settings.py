"""Looks at the settings: learning rate and schedule, and how replies are sampled."""

import math
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.looks.split import has_labels
from course_utils.diagnostics.diagnosis.measures.labels_used import are_next_ids, moves_labels
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import (
    POLICY,
    SCORES,
    Subject,
    is_of_a_library,
)
from course_utils.diagnostics.libraries.trainer import PLAIN, generation_settings
from course_utils.diagnostics.loss_kind import Loss, may_speak, speaks_for

HIGH_RATE = 1e-2
OF_DRAWN = 0.05  # a small model from scratch bears more
MOST = 0.5  # of the weights
LARGE, MANY = 2.0, 2**23  # logits that are kept, by the bytes of the weights, and in bytes
CONSTANT = "constant"  # the schedule that knows no warm-up


def look_at_settings(subject: Subject, sheet: Sheet) -> None:
    with sheet.trying("the learning rate"):
        _rate(subject, sheet)
    with sheet.trying("label smoothing"):
        _smoothing(subject, sheet)
    with sheet.trying("what an evaluation keeps"):
        _evaluation(subject, sheet)
    if subject.kind == POLICY:
        with sheet.trying("how replies are sampled"):
            _sampling(subject, sheet)
    elif subject.kind != SCORES and subject.trainer is not None:
        with sheet.trying("pad and end"):
            _ends(subject, sheet)


def _rate(subject: Subject, sheet: Sheet) -> None:
    args = subject.args
    rate = getattr(args, "learning_rate", None)
    if rate is None:
        return
    if subject.own_optimizer is not None:
        rate = subject.rate_of_most(subject.own_optimizer)
        if rate is None or not subject.makes_own_schedule:
            name = type(subject.own_optimizer).__name__
            said = "sets its own" if rate is None else f"has {rate:g}, and a schedule of its own"
            sheet.show("learning rate", f"{name} {said}")
            return
    steps = num_steps_of(subject)
    warm_up = args.get_warmup_steps(steps) if steps else 0
    schedule = getattr(args, "lr_scheduler_type", "")
    is_used = getattr(schedule, "value", schedule) != CONSTANT
    if rate == 0:
        sheet.find("rate_zero", COUNTED, "learning_rate is 0", place="learning_rate")
    elif steps and warm_up >= steps and is_used:
        said = f"{warm_up} steps of warm-up in a run of {steps}"
        why = f"the warm-up is longer than the run: the learning rate never reaches {rate:g}"
        fix = f"fewer than {steps} warmup_steps"
        place = "warmup_steps"
        sheet.find("schedule_ends_early", COUNTED, said, place=place, why=why, advice=fix)
    elif rate >= (OF_DRAWN if subject.is_drawn else HIGH_RATE) and _moves_the_model(subject):
        sheet.find("rate_unusual", LIKELY - 1, f"learning_rate {rate:g}", place="learning_rate")
    else:
        if warm_up and not is_used:
            sheet.show("warm-up", f"{warm_up} steps are set; lr_scheduler_type constant has none")
        known = f", {warm_up} of {steps} steps of warm-up" if steps and is_used else ""
        sheet.clear("learning rate", f"{rate:g}{known}")


def _moves_the_model(subject: Subject) -> bool:
    """Whether steps as long as the rate reach most weights: new heads and prompts bear more.

    So do a small module of the user's own, and a schedule of hers that scales the rate.
    """
    if not subject.steps_by_rate or _scales_the_rate(
        getattr(subject.trainer, "lr_scheduler", None)
    ):
        return False
    makes_it = getattr(type(subject.trainer), "create_optimizer", None)
    if subject.optimizer is None and makes_it is not None and not is_of_a_library(makes_it):
        return False  # which one it will make is not known yet
    return hasattr(subject.model, "config") and subject.share_trainable > MOST


def _scales_the_rate(schedule: Any) -> bool:
    """Whether the factors of a schedule come from no library's function."""
    factors = [getattr(one, "func", one) for one in getattr(schedule, "lr_lambdas", ())]
    return any(not is_of_a_library(one) for one in factors)


@speaks_for(Loss.NEXT_TOKEN)
def _smoothing(subject: Subject, sheet: Sheet) -> None:
    """The label smoother moves labels by one only for the classes that transformers lists."""
    factor = getattr(subject.args, "label_smoothing_factor", 0.0)
    if not factor or not may_speak(_smoothing, subject.loss):
        return
    from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

    model = getattr(subject.model, "get_base_model", lambda: subject.model)()
    name = type(model).__name__
    if name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES.values():
        sheet.clear("label smoothing", f"{factor:g}, labels moved by one as for {name}")
        return
    if _are_moved_elsewhere(subject):
        sheet.clear("label smoothing", f"{factor:g}, labels moved by one elsewhere")
        return
    sheet.find(
        "labels_shifted",
        COUNTED,
        f"label_smoothing_factor is {factor:g}, and {name} is none of the classes for which the "
        "label smoother moves labels by one",
        place="label_smoothing_factor",
        why="with label smoothing each token is learnt from itself, not from the token before it",
        advice="label_smoothing_factor=0, or smooth in a compute_loss_func that moves the labels",
    )


def _are_moved_elsewhere(subject: Subject) -> bool:
    """Whether the labels stand under the token before them already, or a loss of one's own moves
    them."""
    if not has_labels(subject.batch):
        return False
    ids, labels = subject.batch.get("input_ids"), subject.batch["labels"]
    is_of_tokens = isinstance(ids, Tensor) and ids.shape == labels.shape and labels.dim() == 2
    if is_of_tokens and are_next_ids(labels, ids):
        return True
    return subject.has_own_loss and moves_labels(subject)


@speaks_for(Loss.NEXT_TOKEN, Loss.HIDDEN_TOKENS, Loss.SEQ2SEQ)
def _evaluation(subject: Subject, sheet: Sheet) -> None:
    """With compute_metrics a Trainer keeps the logits of the whole evaluation set.

    They are many where each token has one per word of the vocabulary, and no text is generated;
    of a small evaluation set they are no fault.
    """
    trainer, config = subject.trainer, getattr(subject.model, "config", None)
    tested = getattr(trainer, "eval_dataset", None)
    if not may_speak(_evaluation, subject.loss) or not hasattr(tested, "__len__"):
        return
    if getattr(trainer, "compute_metrics", None) is None or _keeps_none(subject):
        return
    if trainer.preprocess_logits_for_metrics is not None or subject.batch is None:
        sheet.clear("what an evaluation keeps", "logits are reduced before they are kept")
        return
    vocabulary, width = getattr(config, "vocab_size", 0), subject.rows["labels"].shape[-1]
    kept = 4 * len(tested) * width * vocabulary
    weights = sum(p.numel() * p.element_size() for p in subject.model.parameters())
    said = f"{len(tested)} rows x {width} tokens x {vocabulary} logits: {kept / 2**20:.1f} MiB"
    if kept < max(MANY, LARGE * weights):
        sheet.clear("what an evaluation keeps", said)
        return
    sheet.find(
        "memory_by_logits",
        LIKELY,
        f"compute_metrics is set, and an evaluation keeps {said}",
        f"the weights are {weights / 2**20:.1f} MiB",
        place="compute_metrics",
        advice="preprocess_logits_for_metrics=lambda logits, labels: logits.argmax(-1)",
    )


def _keeps_none(subject: Subject) -> bool:
    """Whether an evaluation keeps no logits: it counts batch by batch, takes the loss alone, writes
    texts, or predicts by a method of the user's own."""
    names = ("predict_with_generate", "batch_eval_metrics", "prediction_loss_only")
    predicts = getattr(type(subject.trainer), "prediction_step", None)
    return any(getattr(subject.args, n, False) for n in names) or not is_of_a_library(predicts)


def num_steps_of(subject: Subject) -> int:
    """Optimizer steps of the whole run, 0 if they are not known yet."""
    args = subject.args
    if args.max_steps > 0:
        return args.max_steps
    rows = getattr(subject.trainer, "train_dataset", None)
    if subject.kind == POLICY or not hasattr(rows, "__len__") or subject.has_own_loader:
        return 0
    batches = len(rows) / (args.train_batch_size * args.world_size)
    batches = math.floor(batches) if args.dataloader_drop_last else math.ceil(batches)
    steps = max(1, math.ceil(batches / args.gradient_accumulation_steps))  # of an epoch
    return max(1, math.ceil(steps * args.num_train_epochs))


def _sampling(subject: Subject, sheet: Sheet) -> None:
    """TRL scores with every token; truncating the support samples from another distribution."""
    trainer = subject.trainer
    settings = generation_settings(trainer)
    scored_at = float(getattr(trainer, "temperature", 1.0) or 1.0)
    odd = {
        name: value
        for name, plain in PLAIN.items()
        if (value := settings.get(name)) not in plain and value is not None
    }
    if odd.get("temperature") == scored_at:
        odd.pop("temperature")  # TRL divides the logits by it, too
    longest = getattr(subject.args, "max_completion_length", None)
    if odd.get("min_new_tokens") == longest:
        odd.pop("min_new_tokens", None)  # replies of one length, without an end, are meant
    if odd:
        said = ", ".join(f"{name} {value}" for name, value in odd.items())
        against = ()
        if odd.keys() <= {"top_p", "top_k", "min_p"}:
            against = ("a mild cut-off is common, and hurts little for a while",)
        text = f"replies are drawn with {said}, and scored without"
        sheet.find("logp_disagree", LIKELY, text, place=", ".join(odd), against=against)
    else:
        sheet.clear("sampling", f"temperature {scored_at:g}, every token can be drawn")


def _ends(subject: Subject, sheet: Sheet) -> None:
    """Whether generation knows the end token that the tokenizer writes."""
    config = getattr(subject.model, "generation_config", None)
    end = getattr(subject.tokenizer, "eos_token_id", None)
    if config is None or end is None:
        return
    known = config.eos_token_id
    known = set(known) if isinstance(known, list) else {known}
    if known == {None}:
        said = f"generation_config.eos_token_id is None, the tokenizer ends with id {end}"
        sheet.find("stops_elsewhere", LIKELY, said, place="generation_config.eos_token_id")
    elif end in known:
        sheet.clear("the end", f"id {end}, in tokenizer and generation settings")
