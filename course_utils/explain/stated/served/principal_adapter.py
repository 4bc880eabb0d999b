"""An adapter that was begun from the base's own weights, and is put on the base as it was."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_TAKES_FROM_BASE = re.compile(
    r"\binit_lora_weights['\"]?\s*[:=]\s*['\"](?P<how>pissa\w*|olora|corda\w*)['\"]|"
    r"\b(?:--?)?(?P<flag>pissa_init)['\"]?\s*(?:[:= ]\s*)?['\"]?true",
    re.IGNORECASE,
)
_CONVERTED = re.compile(
    r"\bpath_initial_model_for_weight_conversion\b|\bpissa_convert['\"]?\s*[:= ]\s*['\"]?true|"
    r"\bconvert_(?:pissa|olora|corda)\w*|[/_-]residual|residual[/_-]|"
    r"\bmerge_and_unload\(|\bllamafactory-cli export\b",
    re.IGNORECASE,
)
_SERVED = re.compile(
    r"--lora-modules\b\S*\s+\S+|--enable-lora\b|\bLoRARequest\(.*|\bload_lora_adapter\b.*|"
    r"--lora-paths?\b.*|\bconvert_lora_to_gguf\b.*|\badd_lora\(.*|\bADAPTER \S+$|"
    r"\bload_adapter\(.*|--lora\s+\S+\.gguf"
)
_SIZES = re.compile(
    r"\|W\|\s*=?\s*(?P<w>\d+(?:\.\d+)?).*\|(?:s\s*\*?\s*)?B\s*[@*]?\s*A\|\s*=?\s*(?P<ba>\d+(?:\.\d+)?)"
)
_WRONG = re.compile(
    r"\b(?:nonsense|gibberish|garbage|garbled|rubbish|random (?:tokens|words)|word salad|"
    r"(?:much |far )?worse|different (?:answers?|outputs?))\b",
    re.IGNORECASE,
)
LARGE = 0.1  # of the weights: more than training moves them
TWICE = (
    "the adapter was begun by {how}, which takes a part of the base's own weights into the adapter "
    "and leaves the rest in the base; what serves it adds it to the base as it was, so that this "
    "part counts twice. peft is right only since it takes the part out of the base again as it "
    "loads the adapter"
)
CONVERT = (
    "turn it into a plain adapter as it is saved (save_pretrained(..., "
    "path_initial_model_for_weight_conversion=the adapter as it was before training), which gives "
    "it twice the rank: raise --max-lora-rank), or serve it on the saved rest of the base, or "
    "merge in peft and serve the merged model"
)


def base_counts_twice(beside: Beside, log: Log) -> Iterator[Finding]:
    """PiSSA, OLoRA or CorDA, an engine that serves the adapter, and no conversion."""
    begun, served = beside.matching(_TAKES_FROM_BASE), beside.matching(_SERVED)
    if begun is None or served is None or beside.matching(_CONVERTED):
        return
    found = _TAKES_FROM_BASE.search(begun[1])
    how = found["how"] or found["flag"]
    sizes = _sizes(beside)
    wrong = next(((line, m) for line in beside.told() if (m := _WRONG.search(line.text))), None)
    proof = [
        f"{begun[0].where} says: {begun[1]}",
        f"{served[0].where} says: {served[1].strip()[:MAX_QUOTE]}",
        *sizes,
        *([wrong[0].says] if wrong else []),
    ]
    weight = 9.0 if sizes else 8.4 if wrong else 6.4
    why = TWICE.format(how=how)
    yield Finding("merged_not_equal", weight, begun[0], tuple(proof), why=why, advice=CONVERT)


def _sizes(beside: Beside) -> list[str]:
    """How large the adapter's product is beside the weights, if that is more than training
    makes."""
    rows: list[tuple[Line, float]] = []
    for line in beside.words:
        if (found := _SIZES.search(line.text)) and float(found["w"]):
            rows.append((line, float(found["ba"]) / float(found["w"])))
    shares = [share for _, share in rows]
    if not shares or min(shares) < LARGE:
        return []
    return [
        f"{rows[0][0].where} on: |BA| is {min(shares):.0%} to {max(shares):.0%} of |W|, far more "
        "than training moves weights: the adapter holds a part of them"
    ]
