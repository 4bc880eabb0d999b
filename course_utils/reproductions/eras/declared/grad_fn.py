"""The loss without a grad_fn, and its silent twin, then and now."""

from course_utils.reproductions.eras.declare import Change, Era, Row, Sign
from course_utils.reproductions.eras.declared.common import QUIET, RENAMED

ERROR = "element 0 of tensors does not require grad and does not have a grad_fn"


def _moved(run: str):
    return lambda facts: f"{facts[run]['lora_moved']} of 8 LoRA matrices moved"


def _trains(run: str):
    return lambda facts: not facts[run]["error"] and facts[run]["lora_moved"] == 8


GRAD_FN = Era(
    stem="06_grad_fn",
    thread="trl#3150, trl#3089",
    packages=("trl", "transformers", "peft", "accelerate"),
    model={"name": "tiny-qwen2"},
    deviations=(
        Change("Qwen2-0.5B-Instruct", "MODEL", "the course's tiny Qwen2"),
        Change("DeepSpeed ZeRO-0 on a GPU", "use_cpu=True", "one process, no GPU needed"),
        Change("the reporter's data", "{n}+{n + 3}+{n + 9}=", "sums, which the tiny model knows"),
        Change("the reporter's rewards", "def reward_len", "the length of the reply"),
        Change("a whole run", "max_steps=2", "the error is in the first step"),
        QUIET,
    ),
    changes=(RENAMED,),
    symptoms=(
        Sign(
            "as reported: no grad_fn",
            lambda facts: _last_words(facts["as reported"]) or _moved("as reported")(facts),
            lambda facts: facts["as reported"]["error"] == ERROR,
            today=False,
        ),
        Sign(
            "gradient_checkpointing=False trains",
            _moved("gradient_checkpointing=False"),
            _trains("gradient_checkpointing=False"),
            today=True,
        ),
        Sign(
            "use_reentrant=False trains",
            _moved("use_reentrant=False"),
            _trains("use_reentrant=False"),
            today=True,
        ),
        Sign(
            "enable_input_require_grads() trains",
            _moved("enable_input_require_grads()"),
            _trains("enable_input_require_grads()"),
            today=True,
        ),
        Sign(
            "modules_to_save=['lm_head']: no error, LoRA learns nothing",
            _moved("modules_to_save=['lm_head']"),
            lambda facts: _is_silent(facts["modules_to_save=['lm_head']"]),
            today=False,
        ),
    ),
    row=Row(
        failure="element 0 of tensors does not require grad",
        then="RuntimeError; with modules_to_save no error, and no LoRA matrix moves",
        now="trains, all LoRA matrices move",
        protects="the input hook, set by TRL (0.16, again since 0.26) and transformers 5; "
        "use_reentrant=False by default (trl 0.27, transformers 5)",
        dangerous="use_reentrant=True and a model whose main input is not input_ids, such as ViT",
    ),
)


def _last_words(run: dict) -> str:
    return f"... {run['error'][-25:].strip()}" if run["error"] else ""


def _is_silent(run: dict) -> bool:
    return not run["error"] and run["saved_moved"] > 0 and run["lora_moved"] == 0
