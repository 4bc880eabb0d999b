"""A split that is drawn anew, without a seed, in every process: a later one evaluates on rows that
the model was trained on."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Entry, Line, place
from course_utils.explain.paste.judged import judged_losses
from course_utils.explain.paste.log import Log, finite
from course_utils.explain.paste.scores import scores

_SPLIT = re.compile(
    r"\btrain_test_split\(|\brandom_split\(|\brandom\.(?:shuffle|permutation|sample)\(|"
    r"\.sample\(\s*frac\s*=|\btorch\.randperm\("
)
_OWN_SEED = re.compile(
    r"\b(?:seed|random_state|generator)\s*=\s*(?!None\b)|\bshuffle\s*=\s*False|\brng\b"
)
_SEEDED = re.compile(  # for all that follows, or by a setting that may reach the split
    r"\b(?:set_seed|manual_seed|seed_everything|seed_all)\(|\brandom\.seed\(|--seed\b|"
    r"\bdefault_rng\(\s*\d|RandomState\(\s*\d"
)
_DEF = re.compile(r"^\s*(?:def|from|import)\b")
_SAVED = re.compile(r"\bsave_to_disk\(|\bload_from_disk\(|split_ids|\bnp\.save\(|indices\.\w+")
_GOES_ON = re.compile(
    r"\bresum\w+\b(?!\W{0,3}(?:none|false|null))|\brestart(?:ed|ing)?\b|\bnew process\b|"
    r"\bContinuing training\b|\bfrom[ _](?:the )?(?:last )?checkpoint|\bstarted (?:it )?again\b",
    re.IGNORECASE,
)
_APART = re.compile(  # a second program that judges
    r"\b(?:eval\w*|test\w*|valid\w*|predict|infer\w*|score)\.py\b|"
    r"\b(?:eval\w*|test\w*|infer\w*)\.ipynb\b|\bin (?:another|a separate|a new|the eval\w*) "
    r"(?:script|process|notebook|session)\b",
    re.IGNORECASE,
)
_SAME_SPLIT = re.compile(
    r"\bsame (?:split|function|line|code|data|loader|dataset|helper|\w+\.py)\b|\bsplits? (?:it )?"
    r"(?:again|anew|there|too)\b",
    re.IGNORECASE,
)
_TRAINS = re.compile(r"\btrain\w*\.py\b|\bin training\b|\bwhile training\b", re.IGNORECASE)
_OF_A_TASK = re.compile(r"^(?:\w+_)?(acc|f1|em|exact_match)(?:uracy)?$")
_OF_NEW_ROWS = re.compile(
    r"\b(?:server|leader-?board|hidden|production|customer\w*|live|new|real|fresh|later)\b",
    re.IGNORECASE,
)
_Judged = list[tuple[Entry | Line, float]]
_Scores = dict[str, list[tuple[Line | Entry, float]]]
LOWER, LEVEL, HIGHER = 0.9, 0.5, 0.05  # of a loss; of the drop; of an accuracy
LONGEST, BELOW = 6, 6  # lines of a call; below the name of a program
SURE = 8.3
DRAWN_ANEW = (
    "the split into rows to train on and rows to evaluate is drawn at random without a seed, by "
    "every process anew: {when}, another part of the rows is held out, nearly all of which the "
    "model was trained on by the process before. The better number is that of rows it has seen, "
    "and says nothing of new ones"
)
AFTER_THE_RESTART, IN_ANOTHER = "since the restart", "in the program that evaluates"
ONCE = (
    "split once, with a fixed seed (seed=, random_state= or generator=), save the split or its ids "
    "and read that in every process; what the resumed process and its checkpoints have been "
    "evaluated on is spoilt: judge them by rows that no process has trained on"
)


def split_drawn_anew(beside: Beside, log: Log) -> Iterator[Finding]:
    """A split without a seed, and a number of the evaluation that is better in another process."""
    splits = list(_unseeded(beside))
    if not splits or beside.matching(_SAVED):
        return
    told, when = _lower_behind_a_restart(beside, log), AFTER_THE_RESTART
    if not told:
        told, when = _better_elsewhere(beside, log, splits), IN_ANOTHER
    if not told:
        return
    proof = tuple(dict.fromkeys((*(one.says for one in splits[:2]), *told)))
    why = DRAWN_ANEW.format(when=when)
    yield Finding("rows_in_both", SURE, splits[0], proof, why=why, advice=ONCE)


def _unseeded(beside: Beside) -> Iterator[Line]:
    """Lines of code that split at random, if nothing in the paste sets a seed."""
    if any(_SEEDED.search(line.text.partition("#")[0]) for line in beside.words):
        return
    lines = beside.words
    for number, line in enumerate(lines):
        code = line.text.partition("#")[0]
        is_split = _SPLIT.search(code) and not _DEF.match(code)
        if is_split and not _OWN_SEED.search(_whole_call(lines[number : number + LONGEST])):
            yield line


def _whole_call(lines: list[Line]) -> str:
    """The text of a call from its first line until its brackets are closed."""
    text = ""
    for line in lines:
        text += line.text
        if text.count("(") <= text.count(")"):
            break
    return text


def _lower_behind_a_restart(beside: Beside, log: Log) -> list[str]:
    """A loss of the evaluation that was level, and is lower at once behind a restart."""
    judged = judged_losses(beside, log)
    for line in beside.words:
        before = [one for one in judged if place(one[0]) < place(line)]
        after = [one for one in judged if place(one[0]) > place(line)]
        if not _GOES_ON.search(line.text) or not _falls_at_once(before, after):
            continue
        (last, high), (first, low) = before[-1], after[0]
        return [
            line.says,
            f"the loss of the evaluation is {high:.4g} at {last.where}, {low:.4g} at {first.where}",
            *_as_training(log, low),
        ]
    return []


def _falls_at_once(before: _Judged, after: _Judged) -> bool:
    if len(before) < 2 or not after:
        return False
    drop = before[-1][1] - max(value for _, value in after)
    is_level = before[-2][1] - before[-1][1] < LEVEL * drop
    return after[0][1] < LOWER * before[-1][1] and drop > 0 and is_level


def _as_training(log: Log, judged: float) -> list[str]:
    """The loss of the training there, if the evaluation has come down to it."""
    losses = finite(log.values("loss"))
    near = [loss for loss in losses if abs(loss - judged) < 0.2 * loss]
    return [f"that is the level of the training loss ({near[-1]:.4g})"] if near else []


def _better_elsewhere(beside: Beside, log: Log, splits: list[Line]) -> list[str]:
    """Scores of another program that splits as well, all clearly better than those of the run."""
    apart = next((line for line in beside.words if _APART.search(line.text)), None)
    if apart is None or (len(splits) < 2 and not beside.matching(_SAME_SPLIT)):
        return []
    entries = [entry for run in (*log.earlier, log) for entry in run.entries]
    own, others = _by_program(sorted((*beside.words, *entries), key=place))
    for name in own.keys() & others.keys():
        (last, before), (first, _) = own[name][-1], others[name][0]
        best = max(value for _, value in own[name])
        if min(value for _, value in others[name]) < best + HIGHER:
            continue
        shown = ", ".join(f"{value:.4g}" for _, value in others[name][:3])
        there = f"{name} {before:.4g} at {last.where}, {shown} from {first.where} on"
        return [apart.says, there]
    return []


def _by_program(parts: list[Line | Entry]) -> tuple[_Scores, _Scores]:
    """The scores that the training printed and those of a program that judges, by name."""
    own: _Scores = {}
    others: _Scores = {}
    left = 0  # lines that the program that judges still has
    for part in parts:
        left = BELOW if _APART.search(part.text) else 0 if _TRAINS.search(part.text) else left - 1
        if _OF_NEW_ROWS.search(part.text):
            continue
        for at, name, value in scores([part]):
            if 0 < value <= 1 and (found := _OF_A_TASK.search(name)):
                (others if left > 0 else own).setdefault(found[1] or name, []).append((at, value))
    return own, others
