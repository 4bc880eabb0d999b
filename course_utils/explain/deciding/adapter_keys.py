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
_LAYER = re.compile(
    r"(?P<path>base_model\.model\.[\w.]*?)\b(?P<tail>(?:layers|h|blocks?)\.\d+\..+)"
)
_CLASS = re.compile(
    r"\b(?:Auto\w+|\w+For(?:CausalLM|ConditionalGeneration|\w+))\.from_pretrained\("
)
_ZEROS = re.compile(r"lora_B.*== ?0|lora_B.*count_nonzero|\bmax\(\) ?== ?0")
_SIZE, _IS_ZERO = (
    re.compile(r"lora_B.*\.(?:abs|norm)\("),
    re.compile(r"^(?:tensor\()?0(?:\.0*)?\)?$"),
)
_MISSING = re.compile(r"missing adapter keys|MISSING", re.IGNORECASE)
_DOUBLED = re.compile(r"base_model\.model\.base_model\.model\.")
LOADED_ON_ONE = (
    "the adapter is loaded on a model that has one already (get_peft_model before): each name that "
    "is looked for has its prefix twice, so no name of the file fits, and a new adapter with "
    "lora_B at 0 answers as the base does"
)
ON_THE_BASE = (
    "PeftModel.from_pretrained(base, path) on the bare base model, built without get_peft_model, "
    "or model.load_adapter(path, adapter_name) on the wrapped one; take missing keys for an error. "
    "The file is not at fault"
)
GROUPED = (
    "the adapter of the experts is not loaded: the file has one tensor for all experts of a layer "
    "({kept}), and the model expects one for each ({missing}); no name matches, so these stay as "
    "they began, with lora_B at 0{rest}"
)
REST = ". The rest of the file has the names of the model, and a merge holds that rest alone"
ANOTHER_CLASS = (
    "the adapter does not reach the model that loads it: the file has its keys under {kept}, as in "
    "the class that was trained, and the class that is loaded here has the same layers under "
    "{missing}. No name matches, so what is missing stays at its start, lora_B at 0, and the model "
    "answers as its base does"
)
LOAD_THE_SAME = (
    "load the class that was trained, or rename the keys of the file to the path of this "
    "class; take missing adapter keys for an error, and see that no lora_B is 0"
)
CONVERT = (
    "split the tensors of the file into one lora_A and lora_B for each expert, under the names of "
    "the model (gate and up apart, transposed where the shapes say so), or save again with a "
    "version of the trainer that does it; load, and see that no key is missing and no lora_B is 0"
)


def wrapped_twice(one: Finding, beside: Beside, log: Log) -> Finding:
    """The finding where an adapter is loaded on a model that has one: the prefix stands twice."""
    doubled = beside.matching(_DOUBLED)
    if doubled is None:
        return one
    proof = (*one.for_it, f"{doubled[0].where} looks for {doubled[1]}...")
    return replace(one, weight=8.6, for_it=proof, why=LOADED_ON_ONE, advice=ON_THE_BASE)


def apart(one: Finding, beside: Beside, log: Log) -> Finding:
    """Experts in one tensor in the file, one by one in the model."""
    keys = [(line, key) for line in beside.words for key in _KEY.findall(line.text)]
    missing = [(line, key) for line, key in keys if _MISSING.search(line.text)]
    kept = [(line, key) for line, key in keys if not _MISSING.search(line.text)]
    wanted = next((pair for pair in missing if _OF_ONE_EXPERT.search(pair[1])), None)
    grouped = next((pair for pair in kept if _OF_ALL_EXPERTS.search(pair[1])), None)
    if one.why:
        return one
    if wanted is None or grouped is None:
        return _of_another_class(one, kept, missing, beside)
    others = [pair for pair in kept if "experts" not in pair[1]]
    proof = [*one.for_it, f"{wanted[0].where}: missing {wanted[1]}", _said(grouped)]
    proof += [_said(others[0])] if others else []
    proof += _zeros(beside)
    why = GROUPED.format(
        kept=_short(grouped[1]), missing=_short(wanted[1]), rest=REST if others else ""
    )
    return replace(one, for_it=tuple(proof), why=why, advice=CONVERT)


def _of_another_class(
    one: Finding, kept: list[tuple[Line, str]], missing: list[tuple[Line, str]], beside: Beside
) -> Finding:
    """The same layers of the file and of the model, each under a path of its own."""
    have, lack = ({_tail(key): (line, key) for line, key in some} for some in (kept, missing))
    tail = next((tail for tail in have if tail and tail in lack), None)
    if tail is None:
        return one
    (line, key), (where, want) = have[tail], lack[tail]
    paths = [_LAYER.search(name)["path"].rstrip(".") for name in (key, want)]
    if paths[0] == paths[1]:
        return one
    classes = [found for found in beside.all_matching(_CLASS) if "Auto" not in found[1]]
    names = list(dict.fromkeys(name.partition(".")[0] for _, name in classes))
    proof = [*one.for_it, f"{where.where}: missing {want}", _said((line, key)), *_zeros(beside)]
    if len(names) > 1:
        proof.append(f"two classes load the model here: {names[0]} and {names[1]}")
    why = ANOTHER_CLASS.format(kept=paths[0], missing=paths[1])
    return replace(one, for_it=tuple(proof), why=why, advice=LOAD_THE_SAME)


def _tail(key: str) -> str:
    """A key from its layer on, without the adapter's name.

    >>> _tail("base_model.model.model.layers.0.mlp.up_proj.lora_A.default.weight")
    'layers.0.mlp.up_proj.lora_A.weight'
    """
    found = _LAYER.search(key)
    return found["tail"].replace(".default.", ".") if found else ""


def _said(pair: tuple[Line, str]) -> str:
    return f"{pair[0].where}: the file has {pair[1]}"


def _short(key: str) -> str:
    """The end of a key, from the layer's module on."""
    return key[key.index("experts") :]


def _zeros(beside: Beside) -> list[str]:
    """What a prompt answers to the question how many lora_B are 0."""
    lines = beside.words
    for at, line in enumerate(lines[:-1]):
        if _SIZE.search(line.text) and _IS_ZERO.match(lines[at + 1].text):
            return [f"{lines[at + 1].where} says 0 to {line.text[:MAX_QUOTE]}"]
        if _ZEROS.search(line.text):
            below = next((x for x in lines[at + 1 : at + 3] if re.match(r"\W*\d", x.text)), None)
            if below:
                return [f"{below.where} says {below.text.strip()[:60]} to {line.text[:MAX_QUOTE]}"]
    return []
