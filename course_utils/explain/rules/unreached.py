"""Weights that are not the trained ones: `rule(log, beside)`."""

import re
from collections.abc import Iterator

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
_OF_REWARD = re.compile(  # a setting or line of code that says what scores the replies
    r"(?:\breward_?model(?:\.model)?[._](?:name_or_)?path|\breward_model(?:_name)?|"
    r"\breward_pretrain|\breward_funcs?|\brm_(?:path|model\w*|name))"
    r"['\"]?(?:\s*[=:]\s*|\s+)(?:\w+(?:\.\w+)*\()?\[?\s*['\"]?(?P<path>\$\{?\w+\}?|[\w./-]+)"
)
_VARIABLE = r"(?<![\w$]){}\s*=\s*['\"]?(?P<path>[\w./-]+)"
_REPORT = re.compile(r"LOAD REPORT\W+from\W+(?P<path>[^\s'\"*]+)")
_MISSING = re.compile(
    r"^\W*(?P<name>(?:\w+\.)*(?:score|classifier|v_head|value_head|reward_head|regression_head)"
    r"\.\w+)\W+MISSING\b",
)
_TRAINS_REWARD = re.compile(r"\bRewardTrainer\(|\breward_model(?:ing|ling)\.py\b|\btrl reward\b")
REPORT = 12  # lines of a load report
NO_REWARD_MODEL = (
    "what scores the replies is no reward model: {path} has no head for a score ({names} "
    "{was} drawn at random when it was loaded), so that the reward is a random direction of the "
    "model's states. The policy follows it and earns more, and the replies get worse; no KL "
    "coefficient and no rate mends that"
)
TRAIN_ONE = (
    "train a reward model on pairs first (RewardTrainer), or give one whose file holds the head; "
    "stop the run where the load names a missing score weight; see that its accuracy on known "
    "pairs is above a coin's, and train the policy anew from its start"
)


def head_of_no_reward_model(log: Log, beside: Beside) -> Finding | None:
    """A policy is scored by a model whose head was not in the file that is set as reward model."""
    if log.kind() != "policy" or beside.matching(_TRAINS_REWARD):
        return None
    asked = [(line, m) for line in beside.words for m in _OF_REWARD.finditer(line.text)]
    for line, path, names in _drawn(beside):
        of_it = (one for one in asked if _is_same(_meant(one[1]["path"], beside), path))
        setting = next(of_it, None)
        if setting is None:
            continue
        proof = [line.says, f"{setting[0].where} says: {setting[1][0]}"]
        was = "were" if len(names) > 1 else "was"
        why = NO_REWARD_MODEL.format(path=path, names=" and ".join(names), was=was)
        return Finding("head_is_new", 9.1, line, tuple(proof), why=why, advice=TRAIN_ONE)
    return None


def _drawn(beside: Beside) -> Iterator[tuple[Line, str, list[str]]]:
    """Each load that drew a head at random: its line, its path, and the names of the head."""
    lines = beside.words
    for number, line in enumerate(lines):
        if new := _DRAWN.search(line.text):
            names = [one["name"] for one in _SCORES.finditer(f"[{new['names']}]")]
            yield from [(line, new["path"].rstrip(",:"), names)] if names else []
        elif report := _REPORT.search(line.text):
            below = (_MISSING.search(one.text) for one in lines[number + 1 : number + REPORT])
            names = [one["name"] for one in below if one]
            yield from [(line, report["path"], names)] if names else []


def _meant(path: str, beside: Beside) -> str:
    """The path itself, or what is assigned to the variable that stands for it."""
    name = re.escape(path.strip("${}"))
    is_named = path.startswith("$") or "/" not in path
    found = beside.first(re.compile(_VARIABLE.format(name))) if is_named else None
    return found[1]["path"] if found else path


def _is_same(one: str, other: str) -> bool:
    """
    >>> _is_same("Qwen/Qwen2.5-7B", "/data/models/Qwen/Qwen2.5-7B"), _is_same("a/b", "a/c")
    (True, False)
    """
    one, other = (path.strip("'\"/ ").rstrip(".") for path in (one, other))
    return bool(one) and (one == other or other.endswith(f"/{one}") or one.endswith(f"/{other}"))


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


RULES_OF_SETTINGS = (head_of_another_name, head_of_no_reward_model)
