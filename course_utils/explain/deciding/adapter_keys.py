"""An adapter of which one part has other names in the file than in the model that loads it."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import MAX_QUOTE, Line
from course_utils.explain.paste.log import Log

_KEY = re.compile(r"base_model\.model\.[\w.]*lora_\w+(?:\.\w+)*")
_OF_ONE_EXPERT = re.compile(r"\bexperts\.\d+\.")
_OF_ALL_EXPERTS = re.compile(r"\bexperts\.(?!\d+\.)\w*lora_|\bexperts\.(?!\d+\.)\w+\.lora_")
_ZEROS = re.compile(r"lora_B.*== ?0|lora_B.*count_nonzero|\bmax\(\) ?== ?0")
_MISSING = re.compile(r"missing adapter keys|MISSING", re.IGNORECASE)
GROUPED = (
    "the adapter of the experts is not loaded: the file has one tensor for all experts of a layer "
    "({kept}), and the model expects one for each ({missing}); no name matches, so these stay as "
    "they began, with lora_B at 0{rest}"
)
REST = ". The rest of the file has the names of the model, and a merge holds that rest alone"
CONVERT = (
    "split the tensors of the file into one lora_A and lora_B for each expert, under the names of "
    "the model (gate and up apart, transposed where the shapes say so), or save again with a "
    "version of the trainer that does it; load, and see that no key is missing and no lora_B is 0"
)


def apart(one: Finding, beside: Beside, log: Log) -> Finding:
    """Experts in one tensor in the file, one by one in the model."""
    keys = [(line, key) for _, line in beside.lines for key in _KEY.findall(line.text)]
    missing = [(line, key) for line, key in keys if _MISSING.search(line.text)]
    kept = [(line, key) for line, key in keys if not _MISSING.search(line.text)]
    wanted = next((pair for pair in missing if _OF_ONE_EXPERT.search(pair[1])), None)
    grouped = next((pair for pair in kept if _OF_ALL_EXPERTS.search(pair[1])), None)
    if one.why or wanted is None or grouped is None:
        return one
    others = [pair for pair in kept if "experts" not in pair[1]]
    proof = [*one.for_it, f"{wanted[0].where}: missing {wanted[1]}", _said(grouped)]
    proof += [_said(others[0])] if others else []
    proof += _zeros(beside)
    why = GROUPED.format(
        kept=_short(grouped[1]), missing=_short(wanted[1]), rest=REST if others else ""
    )
    return replace(one, for_it=tuple(proof), why=why, advice=CONVERT)


def _said(pair: tuple[Line, str]) -> str:
    return f"{pair[0].where}: the file has {pair[1]}"


def _short(key: str) -> str:
    """The end of a key, from the layer's module on."""
    return key[key.index("experts") :]


def _zeros(beside: Beside) -> list[str]:
    """What a prompt answers to the question how many lora_B are 0."""
    lines = [line for _, line in beside.lines]
    for at, line in enumerate(lines[:-1]):
        if _ZEROS.search(line.text):
            below = next((x for x in lines[at + 1 : at + 3] if re.match(r"\W*\d", x.text)), None)
            if below:
                return [f"{below.where} says {below.text.strip()[:60]} to {line.text[:MAX_QUOTE]}"]
    return []
