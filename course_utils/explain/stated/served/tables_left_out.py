"""Tables that were trained beside an adapter, and are not in the file that was saved."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line, plain_number
from course_utils.explain.paste.log import Log
from course_utils.explain.paste.scores import fell

_TABLE = r"(?:embed_tokens|lm_head|\bwte\b|get_(?:in|out)put_embeddings|\bembeddings?\b)"
_BY_HAND = re.compile(
    rf"^(?=.*{_TABLE})(?=.*\brequires_grad\w*)(?!.*\b(?:False|frozen|not)\b)", re.IGNORECASE
)
_BY_PEFT = re.compile(rf"\b(?:modules_to_save|additional_target)\b['\"]?\s*[:=].*{_TABLE}")
_ADAPTER_ALONE = re.compile(
    r"\bfor\b.*\bin\b.*\bif\s+\(?\s*(?:['\"]\.?lora_?\w*\.?['\"]\s+in\s+\w+|\w+\.(?:find|count)\(['\"]"
    r"lora|re\.\w+\(['\"].*lora)(?!.*\b(?:or|any)\b)"
)
_BY_LIBRARY = re.compile(r"\bsave_pretrained\(|\bsave_adapter\(|\bsave_model\(")
_TRAINABLE = re.compile(
    r"\btrainable(?: params| parameters)?\W{1,3}(?P<n>\d{1,3}(?:,\d{3})+)", re.I
)
_OF_TABLE = re.compile(rf"{_TABLE}\W{{1,3}}(?P<n>\d{{1,3}}(?:,\d{{3}}){{2,}})")
_FILE = re.compile(
    r"(?=.*(?:adapter|lora)\S*\.(?:safetensors|bin|pt))"
    r"(?:.*?\b(?P<size>\d+(?:\.\d+)?) ?(?P<unit>[KMG])i?B\b|"
    r"^[-drwx]{10}\S*(?:\s+\S+){2,4}?\s+(?P<bytes>\d{6,})\b)"
)
_UNITS = {"K": 1e3, "M": 1e6, "G": 1e9}
SMALL, SURE, FOLLOWS = 1.0, 9.3, 7.6  # bytes a number that was trained
LEFT_OUT = (
    "embedding and head were trained with the adapter ({trained}), and the file that was saved "
    "holds the adapter alone: where it is loaded, the rows of the new tokens are those of the "
    "base or freshly drawn, so that these tokens are neither read nor written; in the process that "
    "trained, all was there"
)
SAVE_THEM = (
    "save all that was trained ({k: v for k, v in sd.items() if k is in the names with "
    "requires_grad}; with PEFT modules_to_save or trainable_token_indices, or "
    "save_embedding_layers=True), load it after the resize, and let no trained name be missing; a "
    "live process or a full checkpoint still has the tables, without one train again"
)


def tables_left_out(beside: Beside, log: Log) -> Iterator[Finding]:
    """Tables with a gradient, and code or a size that says that the file has none of them."""
    lines = beside.words
    by_hand, by_peft = beside.matching(_BY_HAND), beside.matching(_BY_PEFT)
    trained = by_hand or by_peft
    if trained is None:
        return
    parts, small = beside.matching(_ADAPTER_ALONE), _too_small(lines)
    if parts and re.search(_TABLE, parts[0].text):
        return
    if not parts and not (small and beside.matching(_BY_LIBRARY)):
        return
    if not parts and not by_hand:
        return
    worse = fell([*lines, *log.entries])
    if not worse and not small:
        return
    shown = [trained[0], *([parts[0]] if parts else [])]
    proof = [one.says for one in shown] + small + worse
    at = parts[0] if parts else trained[0]
    weight = SURE if worse and (parts or small) else FOLLOWS
    why = LEFT_OUT.format(trained=trained[0].where)
    yield Finding("adapter_not_loaded", weight, at, tuple(proof), why=why, advice=SAVE_THEM)


def _too_small(lines: list[Line]) -> list[str]:
    """A file with fewer bytes than numbers were trained."""
    counts = [(line, plain_number(m["n"])) for line in lines if (m := _TRAINABLE.search(line.text))]
    for line in lines:
        tables = [plain_number(m["n"]) for m in _OF_TABLE.finditer(line.text)]
        counts += [(line, sum(tables))] if tables else []
    files = [(line, _bytes(m)) for line in lines if (m := _FILE.search(line.text))]
    for line, number in counts:
        for file, size in files:
            if 0 < size < SMALL * number:
                return [
                    f"{number:,.0f} numbers are trained ({line.where}), and the file has "
                    f"{size:.3g} bytes ({file.where})"
                ]
    return []


def _bytes(found: re.Match) -> float:
    return float(found["bytes"] or float(found["size"]) * _UNITS[found["unit"]])
