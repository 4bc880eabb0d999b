"""A gradient where no reply has an advantage: a term that is not in the printed loss makes it:
`rule(log, beside)`."""

import re
from statistics import median

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.numbers import said

_ROUTER = re.compile(
    r"\b(?:router_aux_loss_coef|(?:moe_)?aux_loss_coeff?|router_z_loss_coef|"
    r"load_balanc\w*_(?:loss_)?(?:coeff?|weight))['\"]?\s*[:=]\s*(\d+(?:\.\d+)?(?:e-?\d+)?)",
    re.IGNORECASE,
)
FEW, ALIVE, AS_LARGE = 2, 0.01, 0.3  # entries; of a norm; of the usual one
APART, ALIKE = 5.0, 0.1  # times the norm of the other run; of its reward
OF_THE_ROUTER = (
    "the balance of the experts is trained, and little else: the router's auxiliary loss is on "
    "({} {}, which the model's own configuration may have set), the printed loss leaves it out, "
    "and its gradient is as large where no reply has an advantage"
)
NO_BALANCE = (
    "set it to 0 for reinforcement learning ({}: 0.0 in the overrides of the model's "
    "configuration), and start again from the weights of before; then grad_norm must be 0 where "
    "all advantages are"
)


def gradient_without_advantage(log: Log, beside: Beside) -> Finding | None:
    """Rewards and loss are 0, so no reply has an advantage, and the gradient is as before."""
    dead = [entry for entry in log.entries if _teaches_nothing(entry)]
    runs = (*log.earlier, log)
    others = [e for run in runs for e in run.entries if e.numbers.get("reward") and e not in dead]
    norms = [entry.numbers["grad_norm"] for entry in dead]
    usual = [e.numbers["grad_norm"] for e in others if "grad_norm" in e.numbers]
    if len(dead) < FEW or not usual or min(norms) < AS_LARGE * median(usual):
        return None
    if _holds_a_kl(log, beside):
        return None
    entry = dead[0]
    proof = [
        f"{len(dead)} entries, first {entry.where}: {said(entry, 'reward', 'loss', 'grad_norm')}; "
        f"without any reward all advantages are 0, and grad_norm stays at {min(norms):.3g} to "
        f"{max(norms):.3g}",
        *_other_run(log),
    ]
    router = _router(beside)
    if router is None:
        return Finding("term_not_printed", 7.6, entry, tuple(proof))
    line, name, value = router
    proof.append(f"{line.where} says: {name} {value:g}")
    why, advice = OF_THE_ROUTER.format(name, f"{value:g}"), NO_BALANCE.format(name)
    return Finding("term_not_printed", 8.5, entry, tuple(proof), why=why, advice=advice)


def _teaches_nothing(entry: Entry) -> bool:
    numbers = entry.numbers
    spreads = [numbers.get(name, 0.0) for name in ("reward_std", "advantage_max")]
    no_loss = numbers.get("loss", numbers.get("policy_loss")) == 0
    is_dead = numbers.get("reward") == 0 and no_loss and not any(spreads)
    return is_dead and numbers.get("grad_norm", 0.0) > ALIVE


def _holds_a_kl(log: Log, beside: Beside) -> bool:
    """Whether a KL term may make a gradient of its own."""
    logged = log.values("kl") + log.values("kl_loss")
    return any(logged) or any(one.number for one in beside.of("beta"))


def _router(beside: Beside) -> tuple[Line, str, float] | None:
    """The last weight above 0 of an auxiliary loss, unless a later line sets it to 0."""
    found = [(line, m) for line in beside.words for m in _ROUTER.finditer(line.text)]
    if not found or not float(found[-1][1][1]) > 0:
        return None
    line, matched = found[-1]
    return line, re.split(r"['\"\s:=]", matched[0], maxsplit=1)[0], float(matched[1])


def _other_run(log: Log) -> list[str]:
    """The first entry of two runs of one start, of which one has a far larger gradient."""
    firsts = [run.entries[0] for run in (*log.earlier, log) if run.entries]
    firsts = [e for e in firsts if {"step", "reward", "grad_norm"} <= e.numbers.keys()]
    for one in firsts:
        for other in firsts:
            mine, theirs = one.numbers, other.numbers
            is_start = mine["step"] == theirs["step"]
            alike = abs(mine["reward"] - theirs["reward"]) <= ALIKE * abs(theirs["reward"])
            if is_start and alike and mine["grad_norm"] > APART * theirs["grad_norm"] > 0:
                shown = ("step", "reward", "grad_norm")
                text = f"{said(one, *shown)} at {one.where}, {said(other, *shown)} at {other.where}"
                return [text[: 2 * MAX_QUOTE]]
    return []


RULES_OF_SETTINGS = (gradient_without_advantage,)
