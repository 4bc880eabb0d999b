"""An adapter that is merged into another base than the one that it was trained on."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, place
from course_utils.explain.paste.log import Log

_BASE = re.compile(
    r"^\W*(?:--)?(?:model_name_or_path|base_model|model_id|base_model_name_or_path)"
    r"['\"]?\s*[:= ]\s*['\"]?(?P<name>[\w.-]+/[\w./-]+|/[\w./-]+)"
)
_ADAPTER = re.compile(r"\badapter_name_or_path\b|\blora_model_dir\b|\b--adapters?\b")
_EXPORT = re.compile(r"\bexport_dir\b|\bmerge\w*\b|\bexport\b", re.IGNORECASE)
_SUFFIX = re.compile(
    r"[-_](?:instruct|chat|it|base|pt|hf|bnb-4bit|v0\.\d|awq|gptq)\b", re.IGNORECASE
)
_FORMAT = re.compile(r"-(?:unsloth-)?(?:bnb-4bit|awq|gptq\w*|fp8|int[48]|4bit|8bit|hf)\b")
NEAR, SURE = 12, 9.2  # lines of one file of settings
OTHER = (
    "the adapter is merged into another base than the one that it was trained on: the training "
    "names {trained}, the export {merged}. Both have the same shapes, so that nothing complains, "
    "and the sum is a model that nobody trained"
)
SAME = (
    "export with model_name_or_path: {trained}, compare the logits of one batch before and after, "
    "and evaluate again; the adapter itself need not be trained anew"
)


def merged_into_another(beside: Beside, log: Log) -> Iterator[Finding]:
    """Two bases of one family, of which the second stands with an adapter and an export."""
    lines = sorted(beside.words, key=place)
    bases = [(n, x, m["name"]) for n, x in enumerate(lines) if (m := _BASE.match(x.text))]
    trained = next(((x, name) for n, x, name in bases if not _with_adapter(lines, n)), None)
    merged = next(((x, name) for n, x, name in bases if _with_adapter(lines, n)), None)
    if not trained or not merged or trained[1] == merged[1] or not beside.matching(_EXPORT):
        return
    if _family(trained[1]) != _family(merged[1]) or _weights(trained[1]) == _weights(merged[1]):
        return
    proof = (trained[0].says, merged[0].says)
    why = OTHER.format(trained=trained[1], merged=merged[1])
    advice = SAME.format(trained=trained[1])
    yield Finding("merged_not_equal", SURE, merged[0], proof, why=why, advice=advice)


def _with_adapter(lines: list[Line], number: int) -> bool:
    return any(_ADAPTER.search(one.text) for one in lines[number + 1 : number + 1 + NEAR])


def _weights(name: str) -> str:
    """A name without its owner and the format of its weights.

    >>> _weights("unsloth/llama-3-8b-bnb-4bit"), _weights("meta-llama/Llama-3-8B")
    ('llama-3-8b', 'llama-3-8b')
    """
    return _FORMAT.sub("", name.rpartition("/")[2].lower())


def _family(name: str) -> str:
    """
    >>> _family("Qwen/Qwen2.5-7B-Instruct"), _family("Qwen/Qwen2.5-7B")
    ('qwen2.5-7b', 'qwen2.5-7b')
    """
    return _SUFFIX.sub("", name.rpartition("/")[2]).lower()
