"""Decides which tokens a cause is about: labels, ends, positions, the frame of a prompt."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_LONGER = re.compile(r"sequence length is longer.{0,90}?(\(\d+ > \d+\))", re.IGNORECASE)
_ADDED = re.compile(
    r"added[_ ]tokens|add(?:ed|ing)?[_ ](?:special[_ ]|new[_ ])?tokens|extended vocabulary",
    re.IGNORECASE,
)
ADAPTER = re.compile(r"\b(?:q?lora|peft)(?:_\w+|\b)", re.IGNORECASE)
_OF_BASE = re.compile(r"[\w./-]+-Base\b|[\w./-]+-pt\b")
_TRAINS_TABLE = re.compile(r"modules_to_save|additional_target|trainable_token|embed_tokens")
_BARE = re.compile(r"\{\{-? ?\.Prompt ?-?\}\}")
BARE = (
    "Ollama hands the model the bare prompt: its template is {{ .Prompt }}, without the roles and "
    "the end of a turn that it was trained with"
)
OTHER_FORM = (
    "Ollama asks the model in another form than the one that it learnt: the TEMPLATE of the "
    "Modelfile lacks the roles and the end of a turn of its chat template"
)
_PAD_IS_END = re.compile(r"pad_token(?:_id)?['\"]?\s*[=:]\s*\S*eos_token(?:_id)?", re.IGNORECASE)
_NO_KEY = re.compile(r"Could not find (?:response|instruction) key `[^`]*(?:`|$)", re.IGNORECASE)
_PAD, _END = (
    re.compile(
        rf"\b{name}(?:_token(?:_id)?)?['\"]?\s*[=:]\s*['\"]?(\d+|<[^\s'\"]+>)", re.IGNORECASE
    )
    for name in ("pad", "eos")
)
SAID_SO = 9.2  # above a nan that the log hides
SHOWN = 4.5  # of a hint that a line of code bears out


def masked(one: Finding, beside: Beside, log: Log) -> Finding:
    """A response key that is not found, or rows that are cut before their reply begins."""
    if one.why:
        return one
    if not any(log.values("loss")) and (found := beside.matching(_NO_KEY)):
        said = f"{found[0].where} says: {found[1]}"
        return replace(
            one,
            weight=SAID_SO,
            for_it=(*one.for_it, said),
            why="the response template is found in no row, so that every label is -100 and the "
            "loss of 0 (nan in the evaluation) is no success: a text has other tokens alone than "
            "behind the words before it",
            advice="give the template as token ids that were cut from a tokenised row; count the "
            "labels that are not -100",
        )
    limit, prompt = beside.number("max_length"), beside.prompt_tokens()
    if limit is None:
        return one
    proof = (*one.for_it, limit.said)
    if prompt and prompt[0] >= (limit.number or 0):
        said = f"{prompt[1].where} says: {prompt[1].text.strip()[:120]}"
        return replace(
            one,
            for_it=(*proof, said),
            why=f"each row is cut before its reply begins: max_length is {limit.value} and a "
            f"prompt has {prompt[0]} tokens, so no label is left and the loss of 0 is no success",
            advice=f"a max_length above {prompt[0]} tokens and the longest reply together; drop "
            "the rows that are longer",
        )
    if (changed := beside.changed()) and changed[1].name == "max_length":
        return replace(
            one,
            for_it=(*proof, changed[0].said_of_other_run),
            why=f"no label is left at max_length {changed[1].value}, and some are at "
            f"{changed[0].value}: the rows are cut before their reply begins",
            advice="a max_length that holds prompt and reply; count the labels that are not -100",
        )
    return one


def positions(one: Finding, beside: Beside, log: Log) -> Finding:
    """A row beyond the model's positions, where the tokenizer warned of it."""
    added = beside.matching(_ADDED)
    if added and (found := beside.matching(_LONGER)) is None:
        return replace(
            one,
            for_it=(*one.for_it, f"{added[0].where} speaks of {added[1]}"),
            why="token ids of the data are beyond the rows of the embedding: tokens were added to "
            "the tokenizer, and the table that is loaded here has no rows for them",
            advice="model.resize_token_embeddings(len(tokenizer)) before training, and the resized "
            "table saved with the model; the frame of the traceback says little, since the GPU "
            "reports late",
        )
    if (found := beside.matching(_LONGER)) is None:
        return one
    return replace(
        one,
        for_it=(*one.for_it, f"{found[0].where} says: {found[1]}"),
        why="a row is longer than the model's table of positions, and the index of its last "
        "positions is outside of it",
        advice="truncate the rows to the model's max_position_embeddings",
    )


def bare(one: Finding, beside: Beside, log: Log) -> Finding:
    if not _BARE.search(one.at.text):
        return one
    return replace(
        one,
        why=BARE if "TEMPLATE" in one.at.text else OTHER_FORM,
        advice="write the chat template of training into the Modelfile (TEMPLATE, PARAMETER stop), "
        "and create the model again; the GGUF itself need not be converted again",
    )


def untrained_end(one: Finding, beside: Beside, log: Log) -> Finding:
    """An adapter over a base model that never learnt the token which ends a turn."""
    adapter, base = beside.matching(ADAPTER), beside.matching(_OF_BASE)
    if not adapter or not base or beside.matching(_TRAINS_TABLE):
        return one
    return replace(
        one,
        weight=SHOWN,
        for_it=(*one.for_it, *(f"{line.where} says: {words}" for line, words in (adapter, base))),
        against=(),
        why="the adapter leaves embedding and head as they are: the row of an end token that the "
        "base model never learnt stays untrained, so that it is hardly ever written",
        advice="train these tables as well (modules_to_save=['embed_tokens', 'lm_head'], in "
        "LLaMA-Factory additional_target), or end a turn with the token that ends the base's texts",
    )


def padding(one: Finding, beside: Beside, log: Log) -> Finding:
    """The line of code that makes one token of padding and end, or those that print two."""
    if one.why:
        return one
    if (found := beside.matching(_PAD_IS_END)) is None:
        return replace(one, weight=0.0) if one.is_look and _printed_apart(beside) else one
    said = f"{found[0].where} says: {found[1]}"
    return replace(one, weight=SHOWN, for_it=(*one.for_it, said), against=())


def _printed_apart(beside: Beside) -> bool:
    """Whether the tokens of padding and of the end are printed, and are two."""
    shown = (
        [found[-1] for line in beside.words if (found := p.findall(line.text))]
        for p in (_PAD, _END)
    )
    pads, ends = (_last_of_a_kind(some) for some in shown)
    return any(kind in ends and ends[kind] != value for kind, value in pads.items())


def _last_of_a_kind(some: list[str]) -> dict[bool, str]:
    """The last id and the last text of those that are printed."""
    return {one.isdigit(): one for one in some}
