"""A policy that is scored by a model without a trained head: `rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.drawn_heads import drawn_heads
from course_utils.explain.paste.log import Log

_OF_REWARD = re.compile(  # a setting or line of code that says what scores the replies
    r"(?:\breward_?model(?:\.model)?[._](?:name_or_)?path|\breward_model(?:_name)?|"
    r"\breward_pretrain|\breward_funcs?|\brm_(?:path|model\w*|name))"
    r"['\"]?(?:\s*[=:]\s*|\s+)(?:\w+(?:\.\w+)*\()?\[?\s*['\"]?(?P<path>\$\{?\w+\}?|[\w./-]+)"
)
_VARIABLE = r"(?<![\w$]){}\s*=\s*['\"]?(?P<path>[\w./-]+)"
_REWARD_MODEL = re.compile(r"reward|(?<![a-z])rm(?![a-z])", re.IGNORECASE)
_CRITIC = re.compile(r"critic|value[ _]?model", re.IGNORECASE)
_TRAINS_REWARD = re.compile(r"\bRewardTrainer\(|\breward_model(?:ing|ling)\.py\b|\btrl reward\b")
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
    for line, path, names in drawn_heads(beside):
        who = line.text.split("checkpoint")[0]
        is_named = _REWARD_MODEL.search(f"{who} {path}") and not _CRITIC.search(who)
        of_it = (one for one in asked if _is_same(_meant(one[1]["path"], beside), path))
        setting = next(of_it, None)
        if setting is None and not is_named:
            continue
        proof = [line.says, *([f"{setting[0].where} says: {setting[1][0]}"] if setting else [])]
        was = "were" if len(names) > 1 else "was"
        why = NO_REWARD_MODEL.format(path=path, names=" and ".join(names), was=was)
        return Finding("head_is_new", 9.1, line, tuple(proof), why=why, advice=TRAIN_ONE)
    return None


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


RULES_OF_SETTINGS = (head_of_no_reward_model,)
