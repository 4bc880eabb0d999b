"""A server that has an adapter, and requests that ask it for the base model."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.sentences import is_prose

_HAS = re.compile(
    r"Loaded (?:new )?LoRA adapter\W{1,3}name\W{1,3}(?P<loaded>[\w./-]+)|"
    r"--lora-(?:modules|paths)[ =]+['\"]?(?:\{[^}]*?['\"]name['\"]\s*:\s*['\"])?"
    r"(?P<given>[\w./-]+)|"
    r"\bload_lora_adapter\b.*['\"]lora_name['\"]\s*:\s*['\"](?P<posted>[\w./-]+)"
)
_IN_CODE = re.compile(r"\bLLM\(.*\benable_lora\s*=\s*True")
_GENERATES = re.compile(r"\b\w+\.(?:generate|chat)\((?!.*lora_request)")
_WITH_ADAPTER = re.compile(
    r"lora_request\s*[:=]\s*(?!None\b)\S|\bLoRARequest\(|\blora_path['\"]?\s*[:=]\s*['\"](?!none)",
    re.I,
)
_WITHOUT = re.compile(r"\blora_request\s*[:=]\s*None\b|\blora_path['\"]?\s*[:=]\s*(?:None|null)\b")
_SERVES = re.compile(
    r"(?:\bvllm serve|--model(?:-path)?|\bmodel_path=)[ =]*['\"]?(?P<base>[\w./-]+)"
)
_ASKS = re.compile(
    r"(?:['\"]model['\"]\s*:|\bmodel\s*=|\bMODEL\s*=|--model[ =])\s*['\"]?(?P<model>[\w./-]+)|"
    r"\bmodel=(?P<args>[\w./-]+)"
)
_FIRST_OF_LIST = re.compile(
    r"\bmodels\.list\(\)\.data\[0\]|\.data\[0\]\.id|\[['\"]data['\"]\]\[0\]"
)
_CLIENT = re.compile(
    r"(?:curl|POST|chat|completions|lm_eval|bench|openai|base_url|\burl=\S+)", re.IGNORECASE
)
_SCORE = re.compile(r"(?<![\w.])(?P<value>0\.\d{2,}|\d{2}\.\d+)(?!\d|\.\d|[/\w-])")
_BASE = re.compile(
    r"\b(?:plain|base|untuned|original|stock|without (?:the )?(?:adapter|lora))\b", re.I
)
LIKE, SURE, SAID, HINTED = 0.02, 9.2, 8.0, 6.6
NOT_ASKED = (
    "the server has the adapter ({name}), and the requests do not name it: they are answered by "
    "the base model, so that what is measured is the base and not what was trained"
)
NAME_IT = (
    "ask for the adapter by its name (model={name} in each request; in code "
    "generate(..., lora_request=LoRARequest(...))), see in the log that lora_request is not None, "
    "and measure again. Neither the training nor the server's caches are shown to be at fault"
)
OF_THE_LIST = ". The first model of the server's list is the base, and the adapter stands behind it"


def base_is_asked(beside: Beside, log: Log) -> Iterator[Finding]:
    """An adapter that a server knows, and no request with it."""
    lines = beside.words
    has = next(((x, m) for x in lines if not is_prose(x.text) and (m := _HAS.search(x.text))), None)
    code = beside.matching(_IN_CODE)
    asked = next((x for x in lines if _WITHOUT.search(x.text)), None)
    if has is None and code is None:
        return
    name = (has[1]["loaded"] or has[1]["given"] or has[1]["posted"]) if has else "the adapter"
    if any(_WITH_ADAPTER.search(one.text) for one in lines):
        return
    by_name = _for_the_base(lines, name)
    if asked is None and by_name is None:
        if code is None or has is not None:
            return
        asked = next((x for x in lines if _GENERATES.search(x.text)), None)
    if asked is None and by_name is None:
        return
    first = beside.matching(_FIRST_OF_LIST)
    alike = like_the_base([*lines, *log.entries])
    shown = [
        has[0] if has else code[0],
        *([first[0]] if first else []),
        *filter(None, (asked, by_name)),
    ]
    proof = [one.says for one in dict.fromkeys(shown)]
    weight = SURE if asked and (alike or first) else SAID if asked or alike else HINTED
    why = NOT_ASKED.format(name=name) + (OF_THE_LIST if first and has else "")
    advice = NAME_IT.format(name=name if has else "its name")
    of = ("adapter_not_loaded", weight, asked or by_name, (*proof, *alike))
    yield Finding(*of, why=why, advice=advice)


def _for_the_base(lines: list[Line], name: str) -> Line | None:
    """A request that names the model that the server was started with; None if one names the
    adapter."""
    served = [m["base"] for x in lines if (m := _SERVES.search(x.text)) and "/" in m["base"]]
    asked = [
        (x, m["model"] or m["args"])
        for x in lines
        if _CLIENT.search(x.text) and "vllm serve" not in x.text and "--lora-" not in x.text
        for m in _ASKS.finditer(x.text)
    ]
    if any(model == name for _, model in asked):
        return None
    return next((x for x, model in asked if model in served), None)


def like_the_base(parts: list) -> list[str]:
    """A score that is that of the base."""
    found = [(x, float(m["value"])) for x in parts for m in _SCORE.finditer(x.text)]
    of_base = [(x, v) for x, v in found if _BASE.search(x.text)]
    for line, value in of_base:
        for other, score in found:
            if (
                other is not line
                and not _BASE.search(other.text)
                and 0 <= abs(score - value) <= LIKE * value
            ):
                return [
                    f"{score:g} at {other.where} is what the base has, {value:g} ({line.where})"
                ]
    return []
