"""A reward that asks whether the right answer occurs anywhere in the reply."""

import ast
import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, name_of, statements
from course_utils.explain.paste.entries import Line, place, share
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import listed, thirds
from course_utils.explain.stated.evaluations.judged_by_step import judged

_GOLD = re.compile(
    r"truth|gold|sol|label|ref|target|\bgt\b|correct|expect|answer|\bans\b|^(?:str\()?[agty]\b",
    re.I,
)
_REPLY = re.compile(
    r"content|compl|resp|repl|pred|output|text|generat|solution_str|hyp|rollout|decoded|^[cpr]$|^c\[",
    re.IGNORECASE,
)
_READ_OUT = re.compile(
    r"extract|parse|boxed|findall|search|match|group|split|final|last|\[-\d+:\]|answer", re.I
)
_OF_REWARD = re.compile(r"reward|score|acc|correct|grade|verif|judge|check|match", re.IGNORECASE)
_PAYS = re.compile(r"\b[01]\.0\b|\breturn\b|\bfloat\(|\bint\(")
_TESTED = re.compile(
    r"\b(?:test|eval\w*|strict\w*|exact\w*|held[- ]out|benchmark|by hand|math[-_ ]?verify|"
    r"[A-Z][A-Za-z-]*(?:QA|500|8K|Eval|Bench))\b",
    re.IGNORECASE,
)
_LOWER_IS_BETTER = re.compile(r"\b(?:loss\w*|ppl|perplexity|kl|wer|cer|errors?)\b", re.I)
_SCORE = re.compile(r"(?<![\w.])(?:[01]?\.\d+|1\.0|\d{1,2}(?:\.\d+)? ?%)(?![\w.]*\w)")
_CANDIDATES = re.compile(r"(?:(?<![\w.])[\w$.%-]{1,12}(?:,| or| and)\s+){11,}")
_BOTH = re.compile(r"\b(?:yes|true)\b.{0,160}\b(?:no|false)\b|\bno\b.{0,160}\byes\b", re.I)
_PAID = re.compile(r"\b(?:score|reward|acc)\w*['\"]?\W{1,3}1(?:\.0+)?(?![.\d])", re.IGNORECASE)
FALLEN, NEAR, RISEN = 0.8, 2, 1.2  # of the first score; lines; of the first third
SURE, SHOWN = 8.8, 8.0
SOMEWHERE = (
    "the reward only asks whether the right answer occurs somewhere in the reply ({code}): a reply "
    "that lists many candidates, or says both yes and no, is paid in full, and the policy learns "
    "to do that{so}"
)
SO = ". So the reward rises, and what the model can do falls"
ONE_ANSWER = (
    "read one final answer from the reply (the last \\boxed{}, or what stands in <answer>) and "
    "compare that one alone with the right one; pay nothing where several are given; judge by a "
    "strict verifier on held-out rows, and begin again from before the reward rose"
)


def found_somewhere(beside: Beside, log: Log) -> Iterator[Finding]:
    """Code that looks for the right answer within the whole reply, and a strict test that falls
    or a reply that lists candidates."""
    found = next(_within(beside), None)
    if found is None:
        return
    line, code = found
    fallen, lists = _falls(beside), _lists(beside)
    if not fallen and not lists:
        return
    rewards = thirds(log.values("reward"))
    rises = rewards is not None and rewards[2] > RISEN * rewards[0]
    proof = [line.says, *fallen, *lists]
    proof += [f"the reward by thirds of the log: {listed(rewards)}"] if rises else []
    why = SOMEWHERE.format(code=code[:60], so=SO if rises else "")
    weight = SURE if fallen else SHOWN
    yield Finding("reward_pays_junk", weight, line, tuple(proof), why=why, advice=ONE_ANSWER)


def _within(beside: Beside) -> Iterator[tuple[Line, str]]:
    """Each line of a reward function with `gold in reply`, where the reply is the whole one."""
    within, held = "", {}
    for line, statement in statements(beside):
        if isinstance(statement, ast.FunctionDef):
            within, held = statement.name, {}
        for node in ast.walk(statement):
            code = _asks(node, held)
            if code and (_OF_REWARD.search(within) or (not within and _PAYS.search(line.text))):
                yield line, code
        held |= {name_of(target): ast.unparse(value) for target, value in bound(statement)}


def _asks(node: ast.AST, held: dict[str, str]) -> str:
    """The words of `gold in reply`, `reply.find(gold)` or `re.search(gold, reply)`; or ""."""
    gold = reply = None
    if isinstance(node, ast.Compare) and isinstance(node.ops[0], ast.In):
        gold, reply = node.left, node.comparators[0]
    elif isinstance(node, ast.Call) and name_of(node.func) == "find" and node.args:
        gold, reply = node.args[0], getattr(node.func, "value", None)
    elif isinstance(node, ast.Call) and ast.unparse(node.func) == "re.search" and node.args[1:]:
        gold = next((one for one in calls(node.args[0]) if name_of(one.func) == "escape"), None)
        reply = node.args[1]
    if gold is None or reply is None or isinstance(gold, ast.Constant):
        return ""
    text = ast.unparse(reply)
    made = held.get(name_of(reply), "")
    is_whole = _REPLY.search(text) and not _READ_OUT.search(text) and not _READ_OUT.search(made)
    return ast.unparse(node) if is_whole and _GOLD.search(ast.unparse(gold)) else ""


def _falls(beside: Beside) -> list[str]:
    """A line with the scores of a test, of which the last is far below the first."""
    for line in beside.words:
        is_other = "{" in line.text or "=" in line.text or _LOWER_IS_BETTER.search(line.text)
        if is_other or not _TESTED.search(line.text):
            continue
        told = [share(one.replace(" ", "")) for one in _SCORE.findall(line.text)]
        if len(told) >= 2 and told[0] > 0 and told[-1] <= FALLEN * told[0]:
            return [line.says]
    rows = judged(beside.words)
    if rows and rows[-1][2] <= FALLEN * rows[0][2]:
        (line, step, first), (_, end, last) = rows[0], rows[-1]
        return [f"{line.where} and behind it: {first:.3g} at step {step}, {last:.3g} at step {end}"]
    return []


def _lists(beside: Beside) -> list[str]:
    """A reply that lists many candidates, or is paid for yes and no."""
    lines = sorted(beside.words, key=place)
    for number, line in enumerate(lines):
        near = lines[max(0, number - NEAR) : number + NEAR + 1]
        both = _BOTH.search(line.text) and any(_PAID.search(one.text) for one in near)
        if (listed_ := _CANDIDATES.search(line.text)) and len(set(listed_[0].split())) > NEAR:
            return [f"{line.where} shows a reply of candidates: {listed_[0][:60]}"]
        if both:
            return [f"{line.where} is paid and says both: {line.text.strip()[:80]}"]
    return []
