"""A gradient of 0: what the text beside it says of what loses it, and what it leaves open."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.usual_words import NO_INPUT_HAS_GRADIENT

_SAVES = re.compile(
    r"\b(?:sav(?:ed?|ing)|checkpoint|evaluat\w+|merg\w+|convert\w*)\b", re.IGNORECASE
)
_ENGINE = re.compile(
    r"--deepspeed\b\S*(?: \S+)?|\bdeepspeed['\"]?\s*[:=]\s*\S+|\b(?:ds_)?z(?:ero)?[_-]?[123]\b|"
    r"\boffload_\w+['\"]?\s*[:= ]\s*['\"]?true|\bfull_shard\b|\bFSDP2?\b",
    re.IGNORECASE,
)
_ALL_OF_IT = re.compile(
    r"(?:train|finetuning)_type['\"]?\s*[:= ]\s*['\"]?full\b|Trainable \[100\.|"
    r"trainable%:? *100\b",
    re.IGNORECASE,
)
_ALONE = re.compile(
    r"[^.;\n]{0,60}\b(?:single|one|1)[ -](?:GPU|card|process|node)\b[^.;\n]{0,50}\b(?:works?|fine|"
    r"ok|normal\w*|runs?)\b|\u4e00\u5757\u5361[^\n]{0,20}\u6b63\u5e38",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|no|neither|nor)\b|n't\b", re.IGNORECASE)
_PREPARED = re.compile(r"\bprepare_model_for_kbit_training\(")
_WRAPPED = re.compile(r"\bget_peft_model\(|\bPeftModel\w*\.from_pretrained\(")
_HANDED_OVER = re.compile(r"\b\w+Trainer\((?!.*peft_config).*\bmodel\b.*")
_LOADED = re.compile(r"\bPeftModel\w*\.from_pretrained\(.*")
_TRAINABLE = re.compile(r"is_trainable\s*=\s*True|requires_grad_?\(?\s*=?\s*True")
_CONFIG = re.compile(r"\bpeft_config\s*=")
_TRAINED_NAME = re.compile(r"\b(?:\w+\.)+\w*(?:lora_\w+|hada_\w+|vera_\w+)\b")
_OF_TOWER = re.compile(
    r"\b(?:visual|vision_(?:tower|model|encoder)|image_(?:encoder|tower)|vit|vision)\.|"
    r"\baudio_(?:tower|encoder)\.",
    re.IGNORECASE,
)
_NO_IMAGES = re.compile(
    r"\b(?:images?|pictures?|multimodal|mm)\b[^\n]{0,40}?(?<![\d.])0\b(?:\s*(?:/|of)\s*\d[\d,]*)?(?![\d.])|"
    r"\btext[- ]only\b|\b(?:no|without|0) (?:images?|pictures?)\b",
    re.IGNORECASE,
)
WHICH = (
    "which of these: nothing is trainable, what is trained is not connected to the loss, or the "
    "engine (DeepSpeed, sharding, offload) of this version loses the gradients or their norm"
)
NOBODY_TELLS = "no gradient arrives although there is something to learn; no rule tells why"
LOOK_AT_WEIGHTS = (
    "requires_grad of the weights and what the optimizer holds, after the trainer is built; load "
    "an adapter with is_trainable=True"
)
LOOK_AT_ENGINE = "one step without DeepSpeed, sharding or offload, or with another version of it"
LOADED_FROZEN = (
    "no gradient arrives: the adapter is loaded without is_trainable=True, which freezes it",
    "PeftModel.from_pretrained(..., is_trainable=True); count the trainable parameters after the "
    "trainer is built",
)
NOT_REACHED = (
    "no gradient arrives: with reentrant checkpointing over a frozen base, the inputs of each "
    "block need no gradient, and so nothing inside of it gets one",
    "gradient_checkpointing_kwargs={'use_reentrant': False}, or model.enable_input_require_grads() "
    "before the adapter is made",
)
BY_THE_ENGINE = (
    "no gradient arrives although there is something to learn; no rule tells why, and what "
    "it says of the run points at the engine or the sharding (a version that loses the gradients "
    "or their norm)",
    "another version of the engine first (DeepSpeed, or what shards and offloads), or one step "
    "without it or with another stage; then requires_grad and .grad of one weight on each rank, "
    "and whether a weight changes in a step",
)
FROZEN_AGAIN = (
    "no gradient arrives: the trainer gets a model that has its adapter already, on a quantised "
    "base, and some versions of TRL prepare such a model for training a second time, which freezes "
    "the adapter as well; what was printed before the trainer was built does not show it",
    "count the trainable parameters after the trainer is built; pass the plain model and "
    "peft_config=LoraConfig(...), so that the trainer wraps it, or take a newer TRL",
)
PREPARED_LAST = (
    "no gradient arrives: the model is prepared for k-bit training behind get_peft_model, and "
    "prepare_model_for_kbit_training sets requires_grad=False for every weight of what it is "
    "given, those of the adapter too; what was printed before it does not show it",
    "prepare_model_for_kbit_training of the quantised model first, and get_peft_model of what it "
    "returns; or pass the plain model and peft_config=LoraConfig(...). Count the trainable "
    "parameters after the trainer is built",
)
OF_IMAGES_ALONE = (
    "no gradient arrives: the adapter sits in the tower of the images alone (the names that it was "
    "given are modules of this tower, and of no layer of the language model), and no row has an "
    "image, so that nothing of what is trained takes part in the loss",
    "target the layers of the language model (q_proj, k_proj, v_proj, o_proj, gate_proj, up_proj, "
    "down_proj, or all-linear), see that the first names that are trainable are its layers, and "
    "train again; the length of rows has no part in it",
)
NOT_SEEN = "the freezing itself is not in the log; requires_grad after the trainer is built tells"


def lost(one: Finding, beside: Beside, log: Log) -> Finding:
    """What the text says of a gradient of 0: a frozen adapter, an engine, or nothing at all."""
    prepared_last = [] if any(log.values("grad_norm")) else _prepared_last(beside)
    if one.why and not prepared_last:
        return _with_what_ran_before(one, beside, log)
    for found, (why, advice), untold in (
        (_of_images_alone(beside), OF_IMAGES_ALONE, ""),
        (prepared_last, PREPARED_LAST, ""),
        (_frozen_again(beside), FROZEN_AGAIN, NOT_SEEN),
        (_loaded_frozen(beside), LOADED_FROZEN, NOT_SEEN),
        (_of(beside, NO_INPUT_HAS_GRADIENT), NOT_REACHED, ""),
        (_engine(beside), BY_THE_ENGINE, WHICH),
    ):
        if found:
            proof = (*one.for_it, *map(_said, found))
            return replace(one, for_it=proof, why=why, advice=advice, untold=untold)
    engine = _of(beside, _ENGINE)
    looks = (LOOK_AT_ENGINE, LOOK_AT_WEIGHTS) if engine else (LOOK_AT_WEIGHTS, LOOK_AT_ENGINE)
    proof = (*one.for_it, *map(_said, engine))
    return replace(one, for_it=proof, why=NOBODY_TELLS, advice="; ".join(looks), untold=WHICH)


def _of(beside: Beside, pattern: re.Pattern) -> list[tuple[Line, str]]:
    found = beside.matching(pattern)
    return [found] if found else []


def _loaded_frozen(beside: Beside) -> list[tuple[Line, str]]:
    """Where an adapter is loaded, if no line says that it is to be trained."""
    return [] if beside.matching(_TRAINABLE) else _of(beside, _LOADED)


def _of_images_alone(beside: Beside) -> list[tuple[Line, str]]:
    """Names of an adapter that are all of one tower, and what says that no row has an image."""
    names = beside.all_matching(_TRAINED_NAME)
    none = beside.matching(_NO_IMAGES)
    if not names or none is None or not all(_OF_TOWER.search(name) for _, name in names):
        return []
    return [names[0], none]


def _prepared_last(beside: Beside) -> list[tuple[Line, str]]:
    """The adapter, and below it what prepares the model that has it, with nothing that thaws it."""
    wrapped, prepared = beside.matching(_WRAPPED), beside.matching(_PREPARED)
    if not wrapped or not prepared or beside.matching(_TRAINABLE):
        return []
    return [wrapped, prepared] if place(wrapped[0]) < place(prepared[0]) else []


def _frozen_again(beside: Beside) -> list[tuple[Line, str]]:
    """A quantised base, its adapter, and the trainer that gets both, each with its line."""
    found = [beside.matching(p) for p in (_PREPARED, _WRAPPED, _HANDED_OVER)]
    return found if all(found) and not beside.matching(_CONFIG) else []


def _engine(beside: Beside) -> list[tuple[Line, str]]:
    """What leaves the engine: it works on one GPU or node, or all weights are trained, in it."""
    alone = beside.matching(_ALONE)
    alone = alone if alone and not _DENIED.search(alone[1]) else None
    whole, engine = beside.matching(_ALL_OF_IT), beside.matching(_ENGINE)
    if alone is None and not (whole and engine):
        return []
    return [one for one in (alone, whole, engine) if one]


def _said(found: tuple[Line, str]) -> str:
    return f"{found[0].where} says: {found[1].strip()[:MAX_QUOTE]}"


def _with_what_ran_before(one: Finding, beside: Beside, log: Log) -> Finding:
    """What was printed between the last gradient and the first 0."""
    norms = [entry for entry, _ in log.series("grad_norm")]
    if not isinstance(one.at, Entry) or one.at not in norms[1:]:
        return one
    before = norms[norms.index(one.at) - 1]
    between = beside.within(before.where, one.at.where)
    if (found := between.matching(_SAVES)) is None:
        return one
    said = f"{found[0].where}, just before it: {found[0].text.strip()[:MAX_QUOTE]}"
    return replace(one, for_it=(*one.for_it, said))
