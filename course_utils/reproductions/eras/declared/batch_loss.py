"""The gradient that depends on accumulation, before its fix of October 2024, and today."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED

STOCK, SMOOTH, OWN = "as it is", "label smoothing", "a loss of one's own"


def _shows(run: str):
    return lambda facts: (
        "cosine {cosine:.3f}, norm times {ratio:.3g}, logs {logged:.3g} for {right:.3g}".format(
            **facts[run]
        )
    )


def _differs(run: str):
    return lambda facts: facts[run]["cosine"] < 0.9


BATCH_LOSS = Era(
    stem="08_batch_loss",
    thread="trl#2175, transformers#34191",
    packages=("transformers", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("SmolLM-135M", "MODEL", "the course's tiny Qwen2"),
        Change("SFTTrainer", "class InOrder(Trainer)", "its loss is Trainer's; rows in order"),
        Change("the reporter's data", "Four rows count on", "rows of two kinds, unlike in length"),
        Change("a GPU", "use_cpu=True", "no GPU needed"),
        Change("a whole run", "max_steps=1", "the first gradient shows it"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign("1 x 16 against 16 x 1", _shows(STOCK), _differs(STOCK), today=False),
        Sign("with label smoothing", _shows(SMOOTH), _differs(SMOOTH), today=False),
        Sign("with a mean of one's own", _shows(OWN), _differs(OWN), today=True),
        Sign(
            "whose logged loss is too low, and not G times too large",
            _shows(OWN),
            lambda facts: facts[OWN]["logged"] < facts[OWN]["right"],
            today=False,
        ),
    ),
    row=Row(
        failure="The gradient depends on gradient accumulation",
        then="1 x 16 and 16 x 1 give gradients with cosine 0.41 on rows of unlike length; the log "
        "is too low",
        now="equal to 1e-6; a loss of one's own as before, and G times too large on top",
        protects="num_items_in_batch (transformers 4.46; for label smoothing 5.15), on all ranks "
        "since average_tokens_across_devices=True",
        dangerous="compute_loss is overridden with a mean, or a loss has two terms with two counts "
        "(DPO with sft, GRPO's bnpo)",
    ),
)
