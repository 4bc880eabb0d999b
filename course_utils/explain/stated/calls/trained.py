"""Calls after which a run trains nothing, or other weights than it should."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, name_of
from course_utils.explain.paste.entries import place
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import (
    STANDS,
    Found,
    Row,
    Rule,
    goes_on,
    is_open,
    keyword,
    maker,
    told,
    written,
)

_ON = r"(?:_?\(\s*(?:True)?\s*\)|\s*=(?!=)(?!\s*False))"
_THAWED = re.compile(
    rf"requires_grad{_ON}|\bset_adapter\(|unfreez|mark_only|is_trainable\W+(?:True|\w+_)|"
    r"set_requires_grad|trainable params\W+[1-9]|enable_adapters?\("
)
_TO_THE_SAME = re.compile(r"^(?:prepare\w*|compile|to|cuda|train|half|\w*DataParallel|DDP|FSDP)$")
_OTHER_ROLE = re.compile(r"ref|teacher|old|draft|judge|reward", re.IGNORECASE)
_CHECKPOINTS = re.compile(
    r"gradient_checkpointing\s*=\s*True|(?P<name>[\w.]+)\.gradient_checkpointing_enable\("
)
_ADAPTER = re.compile(
    r"(?P<name>[\w.]+)\s*=\s*(?:\w+\.)?(?:get_peft_model|PeftModel\w*\.from_\w+)\("
)
_TABLE_FROZEN = re.compile(
    r"(?P<name>\w+)\.[\w.]*(?:get_input_embeddings\(\)|embed_tokens|wte|word_embeddings)"
    r"[\w.]*(?:\(\):\s*\w+)?\.requires_grad(?:_\(False\)|\s*=\s*False)"
)
_INPUTS = re.compile(  # something makes them need a gradient, or checkpointing asks for none
    r"enable_input_require_grads|use_reentrant\W+(?!True)\w|prepare_model_for_kbit_training|unsloth|"
    r"register_forward_hook|(?:SFT|DPO|ORPO|KTO|GRPO|PPO|CPO|RLOO|Reward)Trainer|"
    r"(?:modules_to_save|target_modules).*(?:emb|wte)|transformers\W{1,4}(?:4\.5[6-9]|5\.)",
    re.IGNORECASE,
)
_PLAIN = re.compile(r"(?<!\w)(?:Seq2Seq)?Trainer\b|\.backward\(")
_BEHIND = re.compile(r"modules_to_save|_CLS\b|ValueHead|\b(?:score|lm_head|classifier)\b.*grad")
_HEADED = re.compile(r"For(?:Sequence|Token|Image|Audio)Classification$|ForMultipleChoice$")
_NONE_SAVED = (
    r"modules_to_save['\"]?\s*(?:[:=]\s*(?:None|null|\[\])|[|,]|\]\s*$|[\w./-]+\.json)"  # by grep
)
_OWN_HEAD = re.compile(
    rf"(?!{_NONE_SAVED})modules_to_save|_CLS\b|all-linear|requires_grad{_ON}|QUESTION_ANS"
)
_LIKE_LORA = re.compile(r"^(?:Ada)?(?:LoRA|IA3|LoHa|LoKr|OFT|VeRA|Bone)Config$", re.IGNORECASE)
_BY_COMMAND = re.compile(r"\breward_model\w*\.py\b|\btrl reward\b")

HEAD = (
    "the new head of `{}` is not trained: the adapter's config names no task type with a head "
    "(SEQ_CLS) and no modules_to_save, so that the head stays frozen as it was drawn, and the "
    "saved adapter does not hold it either"
)
HEAD_FIX = (
    "LoraConfig(task_type=TaskType.SEQ_CLS, ...), which trains and saves the head, or "
    "modules_to_save=['score'] (its name in this model: score, classifier); then train again, as "
    "the head that the adapter was trained with is lost with its process"
)
OF_HEAD = 6.6  # above two evaluations that differ, which follows from it
COMMAND_FIX = "add --lora_task_type SEQ_CLS (or --lora_modules_to_save score) to the command"


def _loaded_frozen(rows: list[Row], beside: Beside) -> Found:
    """An adapter that is loaded for inference, and given to what trains."""
    if beside.matching(_THAWED):
        return None
    held, loops = {}, any("backward" in row.calls for row in rows)
    for number, row in enumerate(rows):
        has_other = row.by is not None and keyword(row.by, "peft_config")
        for name in held if goes_on(rows, number) and not has_other else ():
            mode = row.calls.get("train") if loops else None
            if name in row.trains or (mode and written(mode.func) == f"{name}.train"):
                return [held[name], row.line], name
        for target, value in bound(row.one):
            name, made = written(target), maker(value)
            if made is not None and _is_frozen(made):
                held[name] = row.line
            elif made is None or not _TO_THE_SAME.match(name_of(made.func)):
                held.pop(name, None)
        load = row.calls.get("load_adapter") if isinstance(row.one, ast.Expr) else None
        if load and isinstance(load.func, ast.Attribute) and _is_frozen(load):
            held[written(load.func.value)] = row.line
    return None


def _is_frozen(call: ast.Call) -> bool:
    """Whether it loads an adapter, not to train it, and not beside another one."""
    who = written(call.func)
    if re.match(r"(?:peft\.)?Peft\w*Model\w*\.from_pretrained$", who):
        place_of_it = 3
    elif re.match(r"(?:peft\.)?AutoPeftModel\w*\.from_pretrained$|.*\.load_adapter$", who):
        place_of_it = 2
    else:
        return False
    is_other = _OTHER_ROLE.search(written(keyword(call, "adapter_name")) + who)
    return not (is_open(call) or is_other or len(call.args) > place_of_it) and not keyword(
        call, "is_trainable"
    )


def _inputs_need_none(rows: list[Row], beside: Beside) -> Found:
    """Checkpointing over frozen inputs, where nothing makes them need a gradient."""
    table = beside.first(_TABLE_FROZEN)
    wraps = beside.first(_ADAPTER) or table
    if not (wraps and beside.matching(_PLAIN)) or beside.matching(_INPUTS):
        return None
    at, name = wraps[0], wraps[1]["name"]
    found = [(line, _CHECKPOINTS.search(line.text)) for line in beside.words]
    on = [(line, one["name"]) for line, one in found if one and one["name"] in (None, name)]
    if not on or (not table and any(own and place(line) < place(at) for line, own in on)):
        return None  # peft looks after the inputs of a model that is checkpointed already
    if beside.num_entries and not beside.matching(_BEHIND):
        return None  # without anything behind the blocks there is an error, and no log
    return [on[0][0], at], name


def _head_left(rows: list[Row], beside: Beside) -> Found:
    """A new head under an adapter that neither trains nor saves it."""
    if beside.matching(_OWN_HEAD):
        return None
    heads, config = {}, None
    for row in rows:
        made = {name: call for name, call in row.calls.items() if name.endswith("Config")}
        for name, call in made.items():
            if _LIKE_LORA.match(name):
                is_named = re.search("score|classif|head", written(keyword(call, "target_modules")))
                config = None if is_open(call) or is_named else row.line
        for target, value in bound(row.one):
            call = maker(value)
            if call is not None and _HEADED.search(written(call.func).rpartition(".")[0]):
                heads[written(target)] = row.line
        wrap = row.calls.get("get_peft_model") or row.calls.get("add_adapter")
        given = {written(one) for one in wrap.args[:1]} if wrap else set()
        if row.by is not None and keyword(row.by, "peft_config"):
            given = row.trains | ({"RewardTrainer"} & {name_of(row.by.func)})
        known = [*(name for name in heads if name in given), *(given & {"RewardTrainer"})]
        for name in known if config else ():
            return [config, heads.get(name, row.line), row.line], name
    return None


def _head_left_by_command(rows: list[Row], beside: Beside) -> Found:
    """A command for a reward model with --use_peft, whose adapter is by default one of a
    language model."""
    by, wraps = beside.matching(_BY_COMMAND), beside.matching(re.compile(r"--use_peft\b"))
    named = beside.matching(re.compile(r"lora_task_type|lora_modules_to_save|SEQ_CLS"))
    return ([by[0], wraps[0]], by[1]) if by and wraps and not named else None


_RULES = (
    Rule(
        _loaded_frozen,
        "nothing_trainable",
        "`{}` is an adapter that is loaded without is_trainable=True, which freezes it for "
        "inference, and it is given to training like that: not one of its weights is trainable",
        "load it with PeftModel.from_pretrained(base, path, is_trainable=True), and see in "
        "model.print_trainable_parameters() that the number is not 0",
    ),
    Rule(
        _inputs_need_none,
        "checkpoint_without_gradient",
        "gradient checkpointing is on, and the inputs of the first block of `{}` need no "
        "gradient, since what makes them is frozen: in its usual, reentrant way checkpointing then "
        "gives none to anything inside of the blocks",
        "call model.enable_input_require_grads() before training, or pass "
        "gradient_checkpointing_kwargs={'use_reentrant': False} (on 4 or 8 bits "
        "prepare_model_for_kbit_training(model) does it)",
        complaint=STANDS,
    ),
    # A run learns with such a head as well, by its adapter; what is saved is of no use.
    Rule(_head_left, "head_frozen", HEAD, HEAD_FIX, weight=OF_HEAD, of_learning=False),
    Rule(_head_left_by_command, "head_frozen", HEAD, COMMAND_FIX),
)


def wrong_in_what_is_trained(beside: Beside, log: Log) -> Iterator[Finding]:
    return told(beside, log, _RULES)
