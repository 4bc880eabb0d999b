"""Weights that are not the trained ones: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line
from course_utils.explain.paste.log import Log

_LEFT = re.compile(
    r"checkpoint at (?P<path>\S+) were not used when initializing \w+: ?\[(?P<names>.+)\]"
)
_DRAWN = re.compile(
    r"checkpoint at (?P<path>\S+) and are newly initialized:? ?\[(?P<names>[^\]]+)\]"
)
_SCORES = re.compile(
    r"['\"](?P<name>(?:\w+\.)*(?:v_head|value_head|score|reward_head|rm_head|regression_head|"
    r"classifier)(?:\.\w+)*)['\"]"
)
_ACCURACY = re.compile(r"\bacc(?:uracy)?\W{1,3}(?P<share>0?\.\d+)", re.IGNORECASE)
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
    if log.kind() != "policy":
        return None
    left = [(line, m) for line in beside.words if (m := _LEFT.search(line.text))]
    drawn = [(line, m) for line in beside.words if (m := _DRAWN.search(line.text))]
    for line, kept in left:
        for below, new in drawn:
            names = [_SCORES.search(f"[{one['names']}]") for one in (kept, new)]
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


RULES_OF_SETTINGS = (head_of_another_name,)
