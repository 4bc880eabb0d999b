"""Groups whose replies are all one, since each request is sampled with one seed, or greedily:
`rule(log, beside)`."""

import re

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, plain_number
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.numbers import said

_SEED = re.compile(r"(?<![\w.-])['\"]?seed['\"]?\s*[=:]\s*(?P<n>\d+)\b", re.IGNORECASE)
_IN_REQUEST = re.compile(
    r"SamplingParams\(|sampling_params|completions\.create\(|\bgenerate\(|extra_body|/generate|"
    r"\brollout[._ ]\w*seed|\bsampling\b|temperature|\btop_p\b",
    re.IGNORECASE,
)
_OF_SAMPLING = re.compile(
    r"^\W*(?:temperature|top_p|top_k|max_(?:new_)?tokens|n)\b['\"]?\s*[=:]", re.IGNORECASE
)
_ONE_EACH = re.compile(
    r"(?<![\w.])['\"]?n['\"]?\s*[=:]\s*1\b|\bexpanded\b|repeat_interleave\(|"
    r"\brepeat(?:ed)?\b.{0,20}\bprompts?|"
    r"\bprompts?\b.{0,30}\b(?:repeated|duplicated|copied)\b|\bfor _ in range\(|"
    r"\]\s*\*\s*(?:G|K|N|n|num_generations|group_size|n_samples|\d+)\b|separate requests?",
)
_GREEDY = re.compile(
    r"\bdo_sample['\"]?\s*[=:]\s*['\"]?false\b|(?<![\w.])temperature['\"]?\s*[=:]\s*0(?:\.0+)?"
    r"(?![.\d])|(?<![\w.])top_k['\"]?\s*[=:]\s*1(?![.\d])",
    re.IGNORECASE,
)
_FOR_EVALUATION = re.compile(r"\b(?:eval\w*|val\w*|test|validation|greedy)\b", re.IGNORECASE)
_ALL_ONE = re.compile(r"(?<![\d.])(?P<n>\d{2,})(?:[\s,]+(?P=n)){3,}(?![\d.])")
_UNIQUE = re.compile(
    r"\b(?:unique|distinct|different) (?P<what>\w+)\W{1,4}(?P<n>\d[\d,]*)", re.IGNORECASE
)
_OF_REPLIES = re.compile(r"complet|respon|repl|output|generat|text|sample", re.IGNORECASE)
_ASKED = re.compile(
    r"(?<!unique )(?<!distinct )\b(?:requests?|rollouts|samples|replies|responses|completions)"
    r"\W{1,4}(?P<n>\d[\d,]*)",
    re.IGNORECASE,
)
_HITS = re.compile(
    r"\b(?:pass\w*|correct|solved|hits?)\b.*?\bof (?P<n>\d+)\)?[^\d]*(?P<row>\d[\d ,]*)$"
)
_DIFFER = re.compile(r"\bseed['\"]?\s*[=:]\s*\w*\s*\+|seed\s*\+\s*\w+|base_seed", re.IGNORECASE)
_OF_GROUPS = re.compile(
    r"\b(?:grpo|rloo|rollouts?|advantages?|adv|rewards?(?:_std)?)\b", re.IGNORECASE
)
AROUND, FEW = 4, 2  # lines; groups
ABOUT, NEARLY_ALL, BETWEEN = 1.3, 0.9, 0.1  # of the prompts; of the groups; of a reward
ONE_SEED = (
    "the replies of a group are one and the same: each copy of a prompt is a request of its own "
    "with the same sampling seed ({seed}), so that all of them draw the same tokens. The rewards "
    "of a group are equal, its advantages are 0, and the weights do not change, at any rate"
)
GREEDY = (
    "the replies of a group are one and the same: they are not sampled ({how}), so that the "
    "rewards of a group are equal, its advantages are 0, and next to nothing is learnt"
)
NO_SEED = (
    "leave the seed of the request out (or add the number of the copy to it), or ask for all "
    "replies in one request (n = the size of the group); log the std of the rewards within a group "
    "and how many different replies it has"
)
SAMPLE = "sample at a temperature near 1, and count the different replies of a group"
NO_TOP_K = (
    "take top_k out (-1, 0 or None: no limit), since 1 leaves the likeliest token alone, at any "
    "temperature; count the different replies of a group"
)


def one_seed_for_all(log: Log, beside: Beside) -> Finding | None:
    """A seed in the request (or no sampling), and groups that are alike to the last token."""
    lines = beside.words
    parts = [*lines, *log.entries]
    alike = [*_alike(parts), *_few_different(parts), *_all_or_none(lines), *_tied(log)]
    dead = _no_gradient(log)
    of_groups = any(_OF_GROUPS.search(part.text) for part in (*lines, *log.entries))
    if not (alike or dead) or not (log.kind() == "policy" or of_groups):
        return None
    seed, how = _seed_of_request(lines), _not_sampled(lines)
    copies = next((line for line in lines if _ONE_EACH.search(line.text)), None)
    if seed is None and (how is None or not alike):
        return None
    if seed is not None and (beside.matching(_DIFFER) or not (alike or copies)):
        return None
    shown = [seed or how, *([copies] if copies and seed else [])]
    proof = [one.says for one in shown]
    proof = tuple(dict.fromkeys((*proof, *alike, *dead)))
    weight = 9.0 if alike else 7.6
    if seed is None:
        words = _GREEDY.search(how.text)[0].strip()
        why, advice = GREEDY.format(how=words), NO_TOP_K if "top_k" in words.lower() else SAMPLE
    else:
        why, advice = ONE_SEED.format(seed=_SEED.search(seed.text)["n"]), NO_SEED
    return Finding("no_signal", weight, shown[0], proof, why=why, advice=advice)


def _seed_of_request(lines: list[Line]) -> Line | None:
    """A seed beside what a request is sampled with: on its line, or among the lines around it."""
    for number, line in enumerate(lines):
        if not _SEED.search(line.text) or _FOR_EVALUATION.search(line.text):
            continue
        around = lines[max(0, number - AROUND) : number + AROUND + 1]
        of_sampling = sum(bool(_OF_SAMPLING.match(one.text)) for one in around)
        if _IN_REQUEST.search(line.text) or of_sampling > 1:
            return line
    return None


def _not_sampled(lines: list[Line]) -> Line | None:
    return next(
        (o for o in lines if _GREEDY.search(o.text) and not _FOR_EVALUATION.search(o.text)), None
    )


def _alike(lines: list[Line | Entry]) -> list[str]:
    """Rows of a dump, each with one number again and again, which is another one in each row."""
    rows = [(line, m["n"]) for line in lines if (m := _ALL_ONE.search(line.text))]
    if len(rows) < FEW or len({n for _, n in rows}) < FEW:
        return []
    line, number = rows[0]
    return [
        f"{line.where} on: in each of {len(rows)} groups that are shown all lengths are the same, "
        f"such as {number}"
    ]


def _few_different(parts: list[Line | Entry]) -> list[str]:
    """A count of the different replies that is about that of the prompts, and far below all."""
    for part in parts:
        unique = {
            bool(_OF_REPLIES.search(one["what"])): _count(one)
            for one in _UNIQUE.finditer(part.text)
        }
        asked = _ASKED.search(part.text)
        if len(unique) < 2 or not asked or _count(asked) < 2 * unique[False]:
            continue
        if unique[True] < ABOUT * unique[False]:
            return [part.says]
    return []


def _all_or_none(lines: list[Line]) -> list[str]:
    """How many replies of each of several prompts are right: all of them, or none."""
    for line in lines:
        found = _HITS.search(line.text)
        row = re.findall(r"\d+", found["row"]) if found else []
        if found and len(row) > 3 and {int(one) for one in row} == {0, int(found["n"])}:
            return [line.says]
    return []


def _tied(log: Log) -> list[str]:
    """Next to all groups tied in each entry, though the prompts are neither too easy nor hard."""
    shares, rewards = finite(log.values("zero_std_share")), finite(log.values("reward"))
    if len(shares) <= FEW or min(shares) < NEARLY_ALL or not rewards:
        return []
    if not all(BETWEEN < one < 1 - BETWEEN for one in rewards):
        return []
    entry = log.series("zero_std_share")[0][0]
    return [
        f"{said(entry, 'zero_std_share', 'reward')} at {entry.where}: never below "
        f"{min(shares):.3g}, though the reward is neither 0 nor full"
    ]


def _count(found: re.Match) -> int:
    return int(plain_number(found["n"]))


def _no_gradient(log: Log) -> list[str]:
    """A spread within groups, or a gradient, that is 0 in all entries."""
    for name in ("reward_std", "grad_norm"):
        values = finite(log.values(name))
        if len(values) > 2 and not any(values):
            return [f"{log.series(name)[0][0].names[name]} is 0 in all {len(values)} entries"]
    return []


RULES_OF_SETTINGS = (one_seed_for_all,)
