"""A server that fills in the model's own settings of sampling, which the trainer knows nothing
of."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Entry, Line, place
from course_utils.explain.paste.log import Log

_DEFAULTS = re.compile(
    r"default\b.*?\bsampling param\w*\b.*?(?:from (?:the )?model|generation[_ ]config)"
    r".*?(?P<held>\{.*\})",
    re.IGNORECASE,
)
_VALUE = r"['\"]?\s*[:=]\s*['\"]?(?P<value>-?\d+(?:\.\d+)?)"
_NEUTRAL = {  # what takes nothing away
    "top_k": lambda value: value <= 0,
    "top_p": lambda value: value >= 1,
    "min_p": lambda value: value <= 0,
    "repetition_penalty": lambda value: value == 1,
    "presence_penalty": lambda value: value == 0,
    "frequency_penalty": lambda value: value == 0,
}
_OF_ANOTHER = re.compile(r"\bdo_sample\b|\bHF\b|transformers", re.IGNORECASE)
_REQUEST = re.compile(r"\bcompletions?\.create\(|/v1/(?:chat/)?completions")
_MEASURED = re.compile(
    r"\bsampled\b[^:=|()]*[:=]\s*(?P<seen>\d+(?:\.\d+)?(?:e-?\d+)?)\s*"
    r"\((?:trainer|policy|model)\b[^)|]*?(?P<mass>\d+\.\d+(?:e-?\d+)?)\)",
    re.IGNORECASE,
)
LESS = 5.0  # times
TRUNCATED = (
    "replies are drawn from another distribution than the one that is trained: the server fills in "
    "{named} from the model's generation_config.json, since the requests do not set them, and the "
    "trainer takes the replies for samples of the whole softmax. Log-probs that the server returns "
    "before these settings agree with the trainer's, so no ratio shows or corrects it; what is "
    "never sampled is never learnt, and the entropy falls"
)
SET_THEM = (
    "start the server with --generation-config vllm (SGLang: --sampling-defaults openai), or send "
    "{sent} with each request; then count again what is sampled outside of the first tokens"
)
_SENT = {"top_k": "-1", "top_p": "1.0", "repetition_penalty": "1.0"}


def defaults_of_the_model(beside: Beside, log: Log) -> Iterator[Finding]:
    """The server says which settings it takes from the model, and no request sets others."""
    said = ((line, _DEFAULTS.search(line.text)) for line in beside.words)
    line, found = next(((line, m) for line, m in said if m), (None, None))
    if line is None or found is None or log.kind() != "policy":
        return
    left = dict(_left(found["held"], beside, line))
    measured, request = list(_measured(log, beside)), beside.matching(_REQUEST)
    if not left or not (measured or request):
        return
    proof = [f"{line.where} says: {found['held'][:MAX_QUOTE]}"]
    proof += [request[0].says] if request else []
    proof.append(f"no request that is shown sets {' or '.join(left)}")
    named = ", ".join(f"{name} {value}" for name, value in left.items())
    sent = " and ".join(f"{name} {_SENT.get(name, '0')}" for name in left)
    why, advice = TRUNCATED.format(named=named), SET_THEM.format(sent=sent)
    weight = 8.9 if measured else 7.0
    yield Finding("logp_disagree", weight, line, (*proof, *measured[:2]), why=why, advice=advice)


def _left(held: str, beside: Beside, line: Line) -> Iterator[tuple[str, str]]:
    """The settings that take something away and that no other line sets."""
    others = [one.text for one in beside.words if one is not line]
    others = [one for one in others if not _OF_ANOTHER.search(one) and not _DEFAULTS.search(one)]
    for name, takes_nothing in _NEUTRAL.items():
        pattern = re.compile(rf"\b{name}{_VALUE}")
        given = pattern.search(held)
        if given is None or takes_nothing(float(given["value"])):
            continue
        if not any(pattern.search(one) for one in others):
            yield name, given["value"]


def _measured(log: Log, beside: Beside) -> Iterator[str]:
    """Counts of what is sampled beside the trainer's probability of it, far above."""
    parts: list[Line | Entry] = [*(line for line in beside.words), *log.entries]
    for part in sorted(parts, key=place):
        for found in _MEASURED.finditer(part.text):
            seen, mass = float(found["seen"]), float(found["mass"])
            if mass > LESS * seen:
                yield f"{part.where} says: {found[0][:MAX_QUOTE]}"
