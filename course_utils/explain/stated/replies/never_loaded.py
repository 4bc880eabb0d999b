"""An own loop that trains a policy and samples with an engine, and never gives it the weights."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import place
from course_utils.explain.paste.log import Log

_ENGINE = re.compile(r"(?P<name>\w+)\s*=\s*(?:vllm\.)?LLM\(")
_SAMPLES = re.compile(r"\b\w+\.generate\(")
_STEPS = re.compile(r"\b(?:opt\w*|optim\w*)\.step\(\)")
_GIVES = re.compile(
    r"load_weights|update_weights?|sync_weights?|collective_rpc|set_weights?|state_dict\(\)|"
    r"LoRARequest|reload_weights|load_format|update_named_param|move_model_to_vllm|named_parameters\(",
)
_WAKES = re.compile(r"\b\w+\.(?:wake_up|sleep)\(.*")
_APART = re.compile(
    r"\bd_?log_?p\w*\|?\s*[=:]?\s*(?P<value>0\.\d+)|"
    r"\blog_?p\w*[_ ](?:diff|gap)\w*\W{1,3}(?P<other>\d+\.\d+)",
    re.IGNORECASE,
)
GROWN, FEW, SURE, SAID = 4.0, 3, 9.2, 7.6  # times the first; lines
NEVER = (
    "the engine that samples keeps the weights that it began with: the loop trains the policy, and "
    "no line hands its weights to the engine{wakes}. So every reply is one of the first model, the "
    "reward and the evaluation stay what they were, and the policy moves away from it"
)
ONLY_WAKES = " (sleep and wake_up put its own old weights back)"
HAND_OVER = (
    "load the policy's weights into the engine after every update (with vLLM: collective_rpc of "
    "load_weights with the policy's named parameters, or a saved checkpoint), drop its prefix "
    "cache, and see that the log-probs of sampler and trainer agree again; then begin anew"
)


def never_loaded(beside: Beside, log: Log) -> Iterator[Finding]:
    """An engine, an optimizer that steps, no line that moves weights, and log-probs that part."""
    engine, steps = beside.first(_ENGINE), beside.matching(_STEPS)
    if not engine or not steps or not beside.matching(_SAMPLES) or beside.matching(_GIVES):
        return
    lines = sorted((*beside.words, *log.entries), key=place)
    rows = [(one, m) for one in lines if (m := _APART.search(one.text))]
    values = [float(m["value"] or m["other"]) for _, m in rows]
    wakes = beside.matching(_WAKES)
    parts = len(values) >= FEW and values[-1] > GROWN * max(values[0], 1e-3)
    if not parts and not wakes:
        return
    told = [engine[0].says, steps[0].says, *([wakes[0].says] if wakes else [])]
    if parts:
        first, last = rows[0][0], rows[-1][0]
        told.append(
            f"the log-probs of policy and engine part: {values[0]:g} ({first.where}), "
            f"{values[-1]:g} ({last.where})"
        )
    why = NEVER.format(wakes=ONLY_WAKES if wakes else "")
    weight = SURE if parts else SAID
    yield Finding(
        "stale_sampler", weight, engine[0], tuple(dict.fromkeys(told)), why=why, advice=HAND_OVER
    )
