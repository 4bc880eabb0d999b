"""A model that holds an adapter already, since it was merged, and is served with it once more."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_PATH, _OUT, _BOTH, _CODE = (
    rf"['\"]?(?P<{name}>[\w./-]+)" for name in ("path", "out", "both", "code")
)
_MERGED = re.compile(
    rf"\bmerged?\w*(?:\.\w+)?\.save_pretrained\({_PATH}|"
    rf"\bexport_dir['\"]?\s*[:= ]\s*{_OUT}|"
    rf"\bmerge_and_unload\(\)\.save_pretrained\({_BOTH}"
)
_SERVED = re.compile(
    rf"(?:\bvllm serve|--model(?:-path)?)[ =]+{_PATH}"
    rf"(?=.*--lora-(?:modules|paths)[ =]+\S+)|"
    rf"\bLLM\((?:model=)?{_CODE}(?=.*enable_lora\s*=\s*True)"
)
_ON_IT = re.compile(rf"\b(?P<name>\w+)\s*=\s*\w*AutoModel\w*\.from_pretrained\({_PATH}")
_ADDS = re.compile(r"\bPeftModel\w*\.from_pretrained\((?P<name>\w+)\b")
_TRAINED_ON_IT = re.compile(
    rf"\b(?:base_model_name_or_path|model_name_or_path|base_model)['\"]?\s*[:= ]\s*{_PATH}"
)
SURE = 8.6
TWICE = (
    "the adapter counts twice: {path} is the model into which it was merged, and the adapter is "
    "put on that model once more, so that each weight is moved by double what was trained"
)
ONE_OF_BOTH = (
    "serve the merged model alone (no LoRA option), or the adapter on the base that it was trained "
    "on; then compare the logits of one prompt with those of base and adapter. Neither has to be "
    "trained or merged again"
)


def put_on_twice(beside: Beside, log: Log) -> Iterator[Finding]:
    """The folder of a merge, served or loaded with an adapter."""
    lines = beside.words
    merged: dict[str, Line] = {}
    for line in lines:
        for found in _MERGED.finditer(line.text):
            merged[_end(found["path"] or found["out"] or found["both"])] = line
    trained_on = {_end(m["path"]) for x in lines for m in _TRAINED_ON_IT.finditer(x.text)}
    for line, path in _with_adapter(lines):
        if path in merged and path not in trained_on and merged[path] is not line:
            rows = (merged[path], line)
            proof = tuple(x.says for x in rows)
            why = TWICE.format(path=path)
            yield Finding("merged_not_equal", SURE, line, proof, why=why, advice=ONE_OF_BOTH)
            return


def _with_adapter(lines: list[Line]) -> Iterator[tuple[Line, str]]:
    """Each model that is served or loaded with an adapter on it."""
    loaded: dict[str, str] = {}
    for line in lines:
        for found in _SERVED.finditer(line.text):
            yield line, _end(found["path"] or found["code"])
        for found in _ON_IT.finditer(line.text):
            loaded[found["name"]] = _end(found["path"])
        if (found := _ADDS.search(line.text)) and found["name"] in loaded:
            yield line, loaded[found["name"]]


def _end(path: str) -> str:
    """
    >>> _end("./out/merged/"), _end("/srv/out/merged")
    ('out/merged', 'out/merged')
    """
    return "/".join(path.strip("./").split("/")[-2:])
