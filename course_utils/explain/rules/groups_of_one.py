"""Advantages without a baseline: each reply is a group of its own: `rule(log, beside)`."""

import math
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_GROUPED = re.compile(r"\b(?:grpo\w*|dr_?grpo|rloo\w*|dapo)\b", re.IGNORECASE)
_REPLIES = re.compile(
    r"(?:\brollout\.n|\bnum_generations\w*|\bn[_-]samples[_-]per[_-]prompt|\bgroup_size|\brloo_k)"
    r"['\"]?\s*[=: ]\s*(\d+)"
)
_DEFAULT_IS_ONE = re.compile(r"\bverl\.trainer\.main_ppo\b|\brecipe\.\w+\.main_\w+|main_ppo\.py")
_NESTED = re.compile(r"^\s*['\"]?n['\"]?\s*[:=]\s*\d+")  # under rollout:
_COUNTED = re.compile(r"\bunique (?P<what>[\w ]+?)\s*[:=]\s*(?P<n>\d+)", re.IGNORECASE)
_ROWS = re.compile(r"\b(?:rows|replies|samples|trajectories|responses)\s*[:=]\s*(\d+)", re.I)
_COUNT_ALONE = re.compile(  # "distinct uid   1024", alone on its line
    r"^\W*(?:\w+ ){0,2}?(?P<what>prompts?|uids?|groups?|responses?|replies|rollouts?|samples)\b"
    r"[\w ]*?\W+(?P<n>\d[\d,]*)\W*$",
    re.IGNORECASE,
)
_OF_ROLLOUTS = re.compile(r"\brollout\.(?!log_prob)\w+['\"]?\s*[=:]\s*\S+")  # none of them is n
_GROUP = re.compile(r"uid|group|index", re.IGNORECASE)
_SET = re.compile(r"['\"](?:uid|group_id|group_ids|index)['\"]\s*[:=\]].*", re.IGNORECASE)
FEW, ALIKE, ABOVE = 3, 0.25, 0.05  # entries; of a mean reward; an advantage
NO_BASELINE = (
    "each reply is a group of its own, so that nothing is taken from its reward: the advantage is "
    "the reward itself, never below 0. A wrong reply is pushed down by nothing and a right one "
    "pushed up for ever, however often the prompt is solved; {n} replies to a prompt are sampled "
    "and are not compared"
)
AS_MANY = (
    "each reply is a group of its own: there are as many groups as rows, so that the {n} replies "
    "to a prompt are not compared, and no mean of theirs is taken from a reward"
)
ALONE = (
    "one reply is sampled to each prompt ({how}), so that a group is a single reply and nothing is "
    "taken from its reward: the advantage is the reward itself, never below 0. A wrong reply is "
    "pushed down by nothing and a right one pushed up for ever"
)
NOT_SET = "rollout.n is not set, and is 1 in verl"
EITHER = (
    "see how many replies are sampled to a prompt (verl's rollout.n is 1 by default: ask for 8, "
    "say), and that all of them have one id where advantages are computed; then their mean must be "
    "about 0, and the least below 0"
)
ASK_SEVERAL = (
    "several replies to a prompt (verl: actor_rollout_ref.rollout.n=8, with fewer prompts a step); "
    "then the mean of the advantages must be about 0, and the least below 0"
)
OF_THE_PROMPT = (
    "one id for all replies to one prompt (of the task, repeated with the rows), and not of the "
    "reply or its step, where advantages are computed; then their mean must be about 0, and the "
    "least below 0"
)


def groups_of_one(log: Log, beside: Beside) -> Finding | None:
    """No advantage is below 0 and their mean is that of the reward, or as many groups as rows."""
    grouped, replies = beside.matching(_GROUPED), beside.matching(_REPLIES)
    number = int(_REPLIES.search(replies[1])[1]) if replies else 0
    if grouped is None or log.kind() != "policy":
        return None
    shown, counted = _without_baseline(log), list(_as_many_as_rows(beside))
    if number < 2:
        default = beside.matching(_DEFAULT_IS_ONE) or beside.matching(_OF_ROLLOUTS)
        told = replies or (None if beside.matching(_NESTED) else default)
        how = (replies[1].strip() if replies else NOT_SET) if told else ""
        lines = [grouped[0], *([told[0]] if told else []), *_repeated_once(beside)]
        return _one_reply_each(shown, how, lines)
    if not shown and not counted:
        return None
    entry = shown[0] if shown else log.entries[0]
    proof = [*_said_of(shown), *counted, f"{replies[0].where} says: {replies[1]}"]
    if code := beside.matching(_SET):
        proof.append(f"{code[0].where} says: {code[1].strip()[:MAX_QUOTE]}")
    why = (NO_BASELINE if shown else AS_MANY).format(n=number)
    return Finding("groups_of_one", 9.0, entry, tuple(proof), why=why, advice=OF_THE_PROMPT)


def _one_reply_each(shown: list[Entry], how: str, lines: list[Line]) -> Finding | None:
    """Advantages without a baseline where one reply is asked for, or no line says how many."""
    if not shown:
        return None
    quoted = dict.fromkeys(one.says for one in lines)
    why = ALONE.format(how=how) if how else ""
    proof, advice = (*_said_of(shown), *quoted), ASK_SEVERAL if why else EITHER
    return Finding("groups_of_one", 9.0, shown[0], proof, why=why, advice=advice)


def _repeated_once(beside: Beside) -> list[Line]:
    """The lines that count prompts, groups and replies one below the other, all the same."""
    found = [(line, m) for line in beside.words if (m := _COUNT_ALONE.match(line.text))]
    kinds = {m["what"].lower()[:4] for _, m in found}
    is_one = len({m["n"].replace(",", "") for _, m in found}) == 1
    return [line for line, _ in found] if len(kinds) > 1 and is_one else []


def _said_of(shown: list[Entry]) -> list[str]:
    """What the entries without a baseline say, if there are any."""
    if not shown:
        return []
    names = ("advantage_mean", "advantage_min", "advantage_max", "reward")
    return [
        f"{said(shown[0], *names)} at {shown[0].where}",
        f"so in {len(shown)} entries; a baseline of the group makes the mean about 0",
    ]


def _without_baseline(log: Log) -> list[Entry]:
    """The entries, if in all of them no advantage is below 0 and the mean is near the reward's."""
    needed = {"advantage_mean", "advantage_min", "advantage_max", "reward"}
    some = [entry for entry in log.entries if needed <= entry.numbers.keys()]
    some = [e for e in some if math.isfinite(e.numbers["reward"]) and e.numbers["reward"] > ABOVE]
    bare = [entry for entry in some if _is_bare(entry)]
    return bare if len(bare) >= FEW and len(bare) == len(some) else []


def _is_bare(entry: Entry) -> bool:
    mean, least = (entry.numbers[name] for name in ("advantage_mean", "advantage_min"))
    reward = entry.numbers["reward"]
    return least >= 0 and abs(mean - reward) <= ALIKE * reward


def _as_many_as_rows(beside: Beside) -> Iterator[str]:
    """A line that counts rows, prompts and groups, and has as many groups as rows."""
    for line in beside.words:
        rows, found = _ROWS.search(line.text), list(_COUNTED.finditer(line.text))
        groups = [int(one["n"]) for one in found if _GROUP.search(one["what"])]
        prompts = [int(one["n"]) for one in found if not _GROUP.search(one["what"])]
        if rows and groups and prompts and int(rows[1]) == groups[0] > prompts[0]:
            yield f"{line.where} says: {line.text.strip()[-MAX_QUOTE:]}"


RULES_OF_SETTINGS = (groups_of_one,)
