"""A full GPU that holds a model of twice the bytes it needs: from_pretrained without a format makes
float32 weights."""

import re
from dataclasses import replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.code import calls as calls_of
from course_utils.explain.paste.code import name_of, statements
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.sentences import is_prose

_MODEL = re.compile(
    r"^(?:Auto(?:Peft)?Model\w*|\w*For(?:CausalLM|ConditionalGeneration|Seq\w*)|\w+Model)$"
)
_FORMATS = {"torch_dtype", "dtype", "quantization_config", "load_in_8bit", "load_in_4bit", "config"}
_SET = re.compile(
    r"\b(?:torch_)?dtype['\"]?\s*[:=]|set_default_dtype|\.half\(\)|\.bfloat16\(\)|"
    r"\.to\((?:dtype\s*=\s*)?torch\.(?:bfloat16|float16|half)"
)
_NEWER = re.compile(r"\btransformers\W{0,4}(?:version\W{0,3})?v?(?:[5-9]|\d{2})\.\d")
_AT_LOAD = re.compile(
    r"\bself\._apply\(convert\)|\bmodule\._apply\(|\bin (?:_apply|convert|_load_\w*state_dict\w*|"
    r"from_pretrained|_load_pretrained_model|set_module_tensor_to_device)\b"
)
_BILLIONS = re.compile(
    r"(?<![\w.])(?P<n>\d+(?:\.\d+)?) ?(?:B|billion)\b|"
    r"[-_](?P<name>\d+(?:\.\d+)?)[bB](?![A-Za-z])"
)
_COUNTED = re.compile(
    r"\b(?:all params|num(?:ber of)? param\w*|total param\w*|numel\w*|n_params|num_parameters\(\))"
    r"\W{1,6}(?P<n>\d[\d,_]{7,})",
    re.IGNORECASE,
)
_AFTER_LOAD = re.compile(
    r"\b(?:after|behind|once|when) (?:the )?(?:model )?(?:is |was )?(?:load\w*|from_pretrained)\b|"
    r"\bload(?:ed|ing)?\b|\bmemory[_ ]footprint\b|"
    r"\bbefore (?:the )?(?:train\w*|first step|trainer)",
    re.IGNORECASE,
)
_SIZE = re.compile(r"(?<![\d.])(?P<n>\d+(?:\.\d+)?) ?(?P<unit>[GM])(?P<i>i)?B?(?![\w.])")
_ALLOCATED = re.compile(
    r"\bOf the allocated memory (?P<n>\d+(?:\.\d+)?) GiB is allocated|"
    r"(?P<m>\d+(?:\.\d+)?) GiB already allocated|"
    r"\bthis process has (?P<k>\d+(?:\.\d+)?) GiB memory in use"
)
_FEW_TRAINED = re.compile(r"\b(?:q?lora|peft|get_peft_model|adapter|generate|inference)\b", re.I)
EXACT, ROUGH = (0.96, 1.06), (0.9, 1.16)  # of 4 bytes a weight
HALF, GIB = 1.25, 2**30  # times 2 bytes a weight: more than a model in 16 bits has
WIDE = (
    "the model is loaded in float32: from_pretrained is given no torch_dtype, and then makes 4 "
    "bytes of every weight ({four:.1f} GiB for {billions:.3g} billion), twice the 16 bits of the "
    "checkpoint ({two:.1f} GiB), and fills the GPU with them. bf16=True or fp16=True does not "
    "change that: it casts in the computation alone"
)
NARROW = (
    "give from_pretrained torch_dtype=torch.bfloat16 (float16 on GPUs without it; 'auto' takes the "
    "checkpoint's own), and keep the weights that are trained, an adapter's, in float32; see it in "
    "model.get_memory_footprint(). Batch and checkpointing change nothing of it"
)


def loaded_wide(one: Finding, beside: Beside) -> Finding:
    """The finding of a full GPU, where the weights of a model were made in float32."""
    made = _made_without_format(beside)
    if made is None or beside.matching(_NEWER):
        return one
    number = _weights(beside)
    told = number and (_fills_at_load(one, beside, number[0]) or _printed(beside, *number))
    if not told:
        return one
    weights, where = number[0], number[2]
    words = {"four": 4 * weights / GIB, "two": 2 * weights / GIB, "billions": weights / 1e9}
    proof = (*one.for_it, made.says, where.says, told)
    return replace(one, for_it=tuple(dict.fromkeys(proof)), why=WIDE.format(**words), advice=NARROW)


def _made_without_format(beside: Beside) -> Line | None:
    """The line that loads a model and says nothing of its format, where no other line does."""
    others = (line.text for line in beside.words if not is_prose(line.text))
    if any(_SET.search(text.partition("#")[0]) for text in others):
        return None
    for line, one in statements(beside):
        for call in calls_of(one):
            owner = name_of(getattr(call.func, "value", None))
            given = {keyword.arg for keyword in call.keywords}
            if name_of(call.func) == "from_pretrained" and _MODEL.match(owner):
                return None if given & _FORMATS or None in given else line
    return None


def _weights(beside: Beside) -> tuple[float, tuple[float, float], Line] | None:
    """How many weights the model has, and how near to 4 bytes of each a size must be."""
    if found := beside.first(_COUNTED):
        return plain_number(found[1]["n"]), EXACT, found[0]
    if found := beside.first(_BILLIONS):
        written = found[1]["n"] or found[1]["name"]
        return float(written) * 1e9, EXACT if "." in written else ROUGH, found[0]
    return None


def _fills_at_load(one: Finding, beside: Beside, weights: float) -> str:
    """That the GPU is full while the model is put there, with more than 2 bytes a weight."""
    frame, held = beside.matching(_AT_LOAD), _ALLOCATED.search(_message(one, beside))
    if frame is None or held is None:
        return ""
    size = float(next(filter(None, held.groups()))) * GIB
    if not HALF * 2 * weights < size < EXACT[1] * 4 * weights:
        return ""
    return (
        f"{frame[0].where}: the memory ends while the model is loaded; {size / GIB:.2f} GiB are "
        f"{size / weights:.2f} bytes a weight already"
    )


def _message(one: Finding, beside: Beside) -> str:
    """The whole line of the message: an entry's or a line's own text may be shortened."""
    return next((line.text for line in beside.words if line.where == one.at.where), one.at.text)


def _printed(beside: Beside, weights: float, near: tuple[float, float], _: Line) -> str:
    """A size behind the load that is 4 bytes a weight, of a model of which few are trained."""
    if beside.matching(_FEW_TRAINED) is None:
        return ""
    for line in beside.words:
        for found in _SIZE.finditer(line.text) if _AFTER_LOAD.search(line.text) else ():
            each = [size / weights for size in _bytes(found)]
            fits = [one for one in each if near[0] < one / 4 < near[1]]
            if fits:
                return f"{line.where}: {found[0].strip()} are {fits[0]:.2f} bytes a weight"
    return ""


def _bytes(found: re.Match) -> list[float]:
    """A size in bytes; GB is written for 2**30 as well."""
    power = {"M": 2, "G": 3}[found["unit"]]
    bases = (1024,) if found["i"] else (1024, 1000)
    return [float(found["n"]) * base**power for base in bases]
