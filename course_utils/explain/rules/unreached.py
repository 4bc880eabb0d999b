"""Weights that are not the trained ones: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.drawn_heads import DRAWN, SCORES, UNUSED, drawn_heads
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_KEY = re.compile(
    r"(?<![\w.])(?P<name>(?:\w+\.)*(?:v_head|value_head|score|reward_head|rm_head|regression_head|"
    r"value_proj|classifier|scalar_head)\.(?:\w+\.)*(?:weight|bias))(?![\w.])"
)
_OF_TABLE = re.compile(
    r"(?<![\w.])(?:model\.|transformer\.)+(?:embed_tokens|norm|wte|ln_f|layers\.\d)\S*"
)
_SAVED_APART = re.compile(
    r"\btorch\.save\([^\n]*?(?P<name>\w*head\w*|\w*score\w*)\.state_dict\(\)|"
    r"\btorch\.save\(.*['\"][^'\"]*(?P<file>\w*(?:head|score)\w*\.(?:pt|pth|bin))['\"]"
)
_PUT_BACK = re.compile(
    r"\b\w*(?:head|score)\w*(?:\.\w+)*\.(?:load_state_dict|copy_|data ?=)|torch\.load\([^)]*head"
)
_LOADS_HEADED = re.compile(r"\b\w+ForSequenceClassification\.from_pretrained\(")
_COIN = re.compile(
    r"(?<![\d.])(?:0?\.(?:4[5-9]|5[0-5])\d*|(?:4[5-9]|5[0-5])(?:\.\d+)? ?%)(?!\d)|\bcoin\b|"
    r"\bdifferent (?:score|reward|number|value)s?\b.{0,40}\b(?:each|every|run|start|time)\b",
    re.IGNORECASE,
)
_ACCURACY = re.compile(r"\bacc(?:uracy)?\W{1,3}(?P<share>0?\.\d+)", re.IGNORECASE)
APART = (
    "the trained head is not loaded: it was saved apart ({how}), and {load} looks for {names} in "
    "the checkpoint, does not find it and draws it at random. So the scores are a random direction "
    "of a trained body, and others in each start"
)
PUT_IT_THERE = (
    "copy the saved head into the loaded model (model.{name}.load_state_dict(torch.load(...)), or "
    "its weight by copy_), or train and save with one class that holds the head; refuse to score "
    "while a key is missing"
)
GOOD, CHANCE = 0.6, 0.05  # of the pairs; from a half
OTHER_NAME = (
    "the trained head of this model is not loaded: the checkpoint has it as {}, and the program "
    "looks for {}, which is drawn at random. What it scores is a random direction, and a policy "
    "that is trained on it learns noise; no setting of the policy mends that"
)
NAME_IT = (
    "tell the program the head's name (a prefix of the value head, {}), or rename the tensor in "
    "the checkpoint; then the accuracy of the loaded model on pairs that are known, before the "
    "policy is trained anew"
)


def head_of_another_name(log: Log, beside: Beside) -> Finding | None:
    """A policy is scored by a model whose head was left in the file, and drawn under another
    name."""
    if found := _under_another_key(log, beside):
        return found
    if log.kind() != "policy":
        return None
    left = [(line, m) for line in beside.words if (m := UNUSED.search(line.text))]
    drawn = [(line, m) for line in beside.words if (m := DRAWN.search(line.text))]
    for line, kept in left:
        for below, new in drawn:
            names = [SCORES.search(f"[{one['names']}]") for one in (kept, new)]
            if kept["path"] != new["path"] or not all(names) or names[0][1] == names[1][1]:
                continue
            proof = [
                f"{line.where}: {names[0][1]} of {kept['path']} is not used",
                f"{below.where}: {names[1][1]} is newly initialized",
                *_by_chance(log, beside),
            ]
            why = OTHER_NAME.format(names[0][1], names[1][1])
            advice = NAME_IT.format(names[0][1].rpartition(".")[0] or names[0][1])
            return Finding("head_is_new", 9.2, below, tuple(proof), why=why, advice=advice)
    return None


def _under_another_key(log: Log, beside: Beside) -> Finding | None:
    """The keys of a checkpoint hold one head, and another one is drawn for it."""
    keys = [(line, m["name"]) for line in beside.words for m in _KEY.finditer(line.text)]
    body = beside.matching(_OF_TABLE)
    for line, _, (drawn, *_) in drawn_heads(beside):
        others = [one for one in keys if not DRAWN.search(one[0].text)]
        other = next((one for one in others if one[1] != drawn), None)
        if other is None or body is None or any(name == drawn for _, name in others):
            continue
        proof = (
            f"{line.where}: {drawn} is newly initialized",
            f"{other[0].where}: the checkpoint has {other[1]}",
            *_by_chance(log, beside),
        )
        why = OTHER_NAME.format(other[1], drawn)
        advice = NAME_IT.format(other[1].rpartition(".")[0])
        return Finding("head_is_new", 9.2, line, proof, why=why, advice=advice)
    return None


def head_saved_apart(log: Log, beside: Beside) -> Finding | None:
    """A head that was saved in a file of its own, and a class that looks for it in the model's."""
    saved, loads = beside.first(_SAVED_APART), beside.matching(_LOADS_HEADED)
    drawn, coin = next(drawn_heads(beside), None), beside.matching(_COIN)
    if not saved or not loads or beside.matching(_PUT_BACK) or not (drawn or coin):
        return None
    line, one = saved
    proof = [line.says, loads[0].says]
    proof += [f"{drawn[0].where}: {drawn[2][0]} is newly initialized"] if drawn else []
    proof += [coin[0].says] if coin and coin[0].where != line.where else []
    name = drawn[2][0] if drawn else "score.weight"
    load = f"{loads[1].split('.')[0]}.from_pretrained"
    why = APART.format(how=one["name"] or one["file"], load=load, names=name)
    advice = PUT_IT_THERE.format(name=name.rpartition(".")[0] or name)
    weight = 9.0 if drawn else 7.5
    return Finding("head_is_new", weight, loads[0], tuple(proof), why=why, advice=advice)


def _by_chance(log: Log, beside: Beside) -> list[str]:
    """The accuracy of the head where it was trained, and a coin's where it was loaded."""
    parts: list[Line | Entry] = [*(line for line in beside.words), *log.entries]
    shares = [(part, float(m["share"])) for part in parts if (m := _ACCURACY.search(part.text))]
    good = next((one for one in shares if one[1] > GOOD), None)
    coin = next((one for one in shares if abs(one[1] - 0.5) < CHANCE), None)
    if not good or not coin:
        return []
    return [
        f"an accuracy of {good[1]:g} ({good[0].where}) stands against one of {coin[1]:g} "
        f"({coin[0].where}), which is a coin's"
    ]


RULES_OF_SETTINGS = (head_of_another_name, head_saved_apart)
