"""What transformers' Trainer does when train() begins, where it is private or differs by version.

The versions in the comments are those whose source was read: 4.46, 4.51, 4.57, 5.8, 5.23.
"""

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

MAKE_LOADERS = ("get_train_dataloader", "_get_train_sampler")  # 4.46 to 5.23


@contextmanager
def with_special_tokens(trainer: Any) -> Iterator[None]:
    """In the block, the model's settings have the special tokens that train() gives them first.

    train() copies the pad, start and end of the tokenizer into the configuration of the model and
    of its generation. Afterwards both are as they were before.
    """
    align = _aligner(trainer)
    if align is None:
        yield
        return
    model = trainer.model
    configs = (model.config, _of_text(model.config), getattr(model, "generation_config", None))
    before = [(one, dict(vars(one))) for one in configs if one is not None]
    try:
        with _silence(), suppress(Exception):  # what raises here raises in train() as well
            align()
        yield
    finally:
        for one, values in before:
            vars(one).clear()
            vars(one).update(values)


def has_given_schedule(trainer: Any) -> bool:
    """Whether the schedule of the rate was given, or made by a method of the user's."""
    is_made = getattr(trainer, "_created_lr_scheduler", False)  # 4.46 to 5.23
    return getattr(trainer, "lr_scheduler", None) is not None and not is_made


def _aligner(trainer: Any) -> Callable[[], None] | None:
    """The function that copies the special tokens; None where train() copies none."""
    processor = getattr(trainer, "processing_class", None)
    if processor is None or not hasattr(trainer.model, "config"):
        return None
    from transformers import PreTrainedTokenizerBase, ProcessorMixin, trainer_utils

    if not isinstance(processor, PreTrainedTokenizerBase | ProcessorMixin):
        return None
    of_module = getattr(trainer_utils, "align_special_tokens", None)  # 5.8 to 5.23
    if of_module is not None:
        return partial(of_module, trainer.model, processor)
    return getattr(trainer, "_align_special_tokens", None)  # 4.57; 4.46 and 4.51 copy none


def _of_text(config: Any) -> Any:
    return getattr(config, "get_text_config", lambda: config)()


@contextmanager
def _silence() -> Iterator[None]:
    """In the block, no warning is logged: train() gives the same one."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        yield
    finally:
        logging.disable(before)
