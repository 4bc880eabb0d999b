"""Samples of an evaluation that are one and the same: each round is drawn with one fixed seed."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import bound, calls, last_number, name_of, statements
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log
from course_utils.explain.stated.calls.given import SHOWN

_AT_K = re.compile(r"\b(?:pass|maj|best|cons)[@_](?P<k>\d+)\W{1,3}(?P<value>\d*\.\d+)", re.I)
_COUNTS = re.compile(r"\{\s*(?P<pairs>\d+\s*:\s*\d+(?:\s*,\s*\d+\s*:\s*\d+)*)\s*\}")
_SEEDS = ("set_seed", "manual_seed", "manual_seed_all", "seed_everything", "seed_all")
_TOLD_APART = re.compile(
    r"\b(?:pass|maj|best|cons)[@_]|\bmajority|self[-_ ]?consisten|best[-_ ]of|\bcandidates?\b|"
    r"\b(?:n|num)_(?:samples|generations|rollouts)\b|\bsamples\b|\bdiver\w+|\bidentical\b",
    re.IGNORECASE,
)
_OF_A_POLICY = re.compile(r"\badvantages?\b|\bgrpo\b|\brloo\b|reward_std", re.IGNORECASE)
_GREEDY = re.compile(r"do_sample=False|temperature=0(?:\.0+)?(?![.\d])")
BODY = 6  # statements of a loop
FLAT, MOST, FEW = 0.005, 0.95, 3  # of a score; of the rows; values of k
ONE_DRAW = (
    "the samples of a problem are one and the same reply: SamplingParams holds a fixed seed "
    "({seed}), which is that of each request, and the same call is made again and again, so that "
    "every round draws the same tokens. So pass@k is pass@1, at any temperature and before any "
    "training: it says nothing of how much the policy still varies"
)
OWN_SEED = (
    "n=k in one SamplingParams, or leave its seed out, or seed + i in round i; then count the "
    "different replies to a problem, and compute pass@k again for both checkpoints. No training "
    "mends that"
)


ALIKE = (
    "the samples of a prompt are one and the same reply: the loop that draws them sets one seed "
    "({seed}) anew in each round, so that each draws the same tokens"
)


def one_seed_each_round(beside: Beside, log: Log) -> Iterator[Finding]:
    """A seed in SamplingParams that a loop hands to each call, and scores that k does not move."""
    code = _seeded(beside)
    shown = [*_flat(beside), *_all_or_none(beside)] if code else []
    if not code or not shown:
        yield from _by_code(beside)
        return
    made, loop, seed = code
    proof = [one.says for one in (made, loop)]
    why = ONE_DRAW.format(seed=seed)
    yield Finding("metric_not_as_named", 9.2, made, (*proof, *shown), why=why, advice=OWN_SEED)


def _by_code(beside: Beside) -> Iterator[Finding]:
    """A loop over the number of samples that seeds each round alike and asks the same again."""
    policy = beside.matching(_OF_A_POLICY)
    if not (policy or beside.matching(_TOLD_APART)) or beside.matching(_GREEDY):
        return
    found = (m for line in beside.words for m in _AT_K.finditer(line.text))
    if len({m["value"] for m in found}) > 1:
        return  # more samples find more
    rounds = _Rounds()
    for line, statement in statements(beside):
        if (found := rounds.read(line, statement)) and rounds.loop:
            at, seed = found
            proof = tuple(dict.fromkeys(x.says for x in (at, rounds.loop, line)))
            key = "no_signal" if policy else "metric_not_as_named"
            why = ALIKE.format(seed=seed)
            yield Finding(key, SHOWN, at, proof, why=why, advice=OWN_SEED)
            return


@dataclass
class _Rounds:
    """The loop that is read, the names that its rounds set, and the seeds by their names."""

    seeds: dict[str, tuple[Line, str]] = field(default_factory=dict)
    loop: Line | None = None
    left: int = 0
    changed: set[str] = field(default_factory=set)

    def read(self, line: Line, statement: ast.stmt) -> tuple[Line, str] | None:
        """The seed of a statement that samples in the loop, if each round has the same one."""
        for one in ast.walk(statement):
            if isinstance(one, ast.ListComp) and _counts(one.generators[0]):
                self.loop, self.left, self.changed = line, 1, {name_of(one.generators[0].target)}
        if _counts(statement):
            self.loop, self.left, self.changed = line, BODY, {name_of(statement.target)}
            return None
        self.left = 0 if isinstance(statement, ast.FunctionDef) else self.left - 1
        for target, value in bound(statement):
            owner = target.value if isinstance(target, ast.Attribute) else None
            self.seeds.pop(name_of(owner) if name_of(target) == "seed" else name_of(target), None)
            if seed := _fixed_seed(value):
                self.seeds[name_of(target)] = (line, seed)
            self.changed.add(name_of(target))
        if isinstance(statement, ast.For):
            self.changed |= {name_of(node) for node in ast.walk(statement.target)}
        found = (self._of_call(line, one) for one in calls(statement))
        return next((one for one in found if one), None) if self.left >= 0 else None

    def _of_call(self, line: Line, call: ast.Call) -> tuple[Line, str] | None:
        names = {name_of(node) for node in ast.walk(call)} - {""}
        if names & self.changed - self.seeds.keys():
            return None
        if name_of(call.func) in _SEEDS and call.args:
            self.seeds[""] = (line, ast.unparse(call))
        if name_of(call.func) not in ("generate", "chat"):
            return None
        own = next((one for one in map(_fixed_seed, calls(call)) if one), "")
        held = (self.seeds[name] for name in ("", *names) if name in self.seeds)
        return (line, own) if own else next(held, None)


def _counts(statement: ast.AST) -> bool:
    """Whether it is a loop `for _ in range(n)`, which goes over no rows."""
    is_loop = isinstance(statement, ast.For | ast.comprehension)
    if not is_loop or not isinstance(statement.target, ast.Name):
        return False
    of = statement.iter
    return isinstance(of, ast.Call) and name_of(of.func) == "range" and len(of.args) == 1


def _seeded(beside: Beside) -> tuple[Line, Line, str] | None:
    """The line that makes the parameters before a loop, and the one that samples with them."""
    made: dict[str, tuple[Line, str]] = {}
    loops = False
    for line, statement in statements(beside):
        for target, value in bound(statement):
            if isinstance(target, ast.Attribute) and target.attr == "seed":
                made.pop(name_of(target.value), None)  # sp.seed = seed + i
            seed = _fixed_seed(value)
            if seed and not loops and isinstance(target, ast.Name):
                made[target.id] = (line, seed)
        for node in ast.walk(statement):
            if isinstance(node, ast.For | ast.comprehension):
                made.pop(name_of(node.target), None)  # others, one after the other
        loops = loops or isinstance(statement, ast.For | ast.While)
        for call in calls(statement):
            given = [*call.args, *(one.value for one in call.keywords)]
            name = next((name_of(one) for one in given if name_of(one) in made), "")
            repeats = loops or any(isinstance(n, ast.comprehension) for n in ast.walk(statement))
            if name and repeats and name_of(call.func) in ("generate", "chat"):
                return made[name][0], line, made[name][1]
    return None


def _fixed_seed(value: ast.expr) -> str:
    """The seed of SamplingParams(seed=...), where one reply is asked for; "" if there is none."""
    if not isinstance(value, ast.Call) or name_of(value.func) != "SamplingParams":
        return ""
    given = {one.arg: one.value for one in value.keywords}
    seed = given.get("seed")
    is_none = isinstance(seed, ast.Constant) and seed.value is None
    if seed is None or is_none or ("n" in given and last_number(given["n"]) != 1):
        return ""
    return f"seed={ast.unparse(seed)}"


def _flat(beside: Beside) -> list[str]:
    """The same score for three values of k or more, in some block of them."""
    block: list[tuple[Line, int, float]] = []
    for line in sorted((o for o in beside.words), key=place):
        for found in _AT_K.finditer(line.text):
            k, value = int(found["k"]), float(found["value"])
            if block and k <= block[-1][1]:
                block = []
            block.append((line, k, value))
            if len(block) >= FEW and block[-1][1] >= 4 * block[0][1] and _is_level(block):
                return [
                    f"{block[0][0].where} on: pass@{block[0][1]} {block[0][2]:g}, "
                    f"pass@{k} {value:g}: more samples find nothing more"
                ]
    return []


def _is_level(block: list[tuple[Line, int, float]]) -> bool:
    values = [value for _, _, value in block]
    return min(values) > 0 and max(values) < 1 and max(values) - min(values) <= FLAT


def _all_or_none(beside: Beside) -> list[str]:
    """A count of problems by right samples, with next to none between none and all."""
    for line in beside.words:
        if not (found := _COUNTS.search(line.text)):
            continue
        counts = dict(tuple(map(int, one.split(":"))) for one in found["pairs"].split(","))
        top, whole = max(counts), sum(counts.values())
        ends = counts.get(0, 0) + counts[top]
        if top > 2 and counts.get(0) and ends >= MOST * whole:
            return [line.says]
    return []
