"""What two shapes in a message decide: vocabulary, rank, another base, or a flat shard."""

import math
import re
from dataclasses import dataclass, replace

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.entries import Line
from course_utils.explain.paste.log import Log

_MISMATCH = re.compile(
    r"size mismatch for (?P<name>\S+?): copying a param with shape "
    r"torch\.Size\(\[(?P<kept>[\d, ]+)\]\) from checkpoint, "
    r"the shape in current model is torch\.Size\(\[(?P<here>[\d, ]+)\]\)"
)
_TABLE = re.compile(r"embed|wte\b|lm_head|output_layer|\bhead\b|emb\.", re.IGNORECASE)
_MUST_MATCH = re.compile(r"tensor a \((\d+)\) must match the size of tensor b \((\d+)\)")
_TABLES_ALONE = re.compile(r"size mismatch for \S*modules_to_save\S*")
_PEFT = re.compile(r"\bpeft(?:[\s=:@-]+|\W+version\W+)v?0\.15\.0\b", re.IGNORECASE)
_OTHER_EMPTY = re.compile(r"size mismatch for (?!\S*modules_to_save)\S+.*torch\.Size\(\[0\]\)")
LEAST = 30_000  # rows of a vocabulary
TABLES_EMPTY = (
    "the adapter's file holds empty tables: peft 0.15.0 does not gather modules_to_save (embedding "
    "and head) under ZeRO-3 when it saves, though the matrices of the adapter are whole"
)
NEWER_PEFT = (
    "peft 0.15.1 or newer; then save again from the run's ZeRO-3 checkpoint, if its shards are "
    "kept (zero_to_fp32.py makes whole weights of them), or train those tables again"
)
_PAD = 64  # models round the rows of their table up to a multiple of it


@dataclass(frozen=True)
class _Shapes:
    name: str
    kept: tuple[int, ...]
    here: tuple[int, ...]

    @property
    def said(self) -> str:
        return f"{self.name}: {list(self.kept)} in the checkpoint, {list(self.here)} in the model"


def shapes(beside: Beside) -> tuple[Line, str, str, str] | None:
    """The line that decides why shapes differ, its shapes, why, and the fix; None if none does."""
    pairs = [(line, pair) for line in beside.words if (pair := _shapes(line.text))]
    for decide in (_flat, _table, _rank, _width):
        for line, pair in pairs:
            if told := decide(pair):
                return line, pair.said, *told
    found = (_of_vocabularies(line) for line in beside.words)
    return next((one for one in found if one), None)


def partitioned(one: Finding, beside: Beside, log: Log) -> Finding:
    """Empty tables beside an adapter that is whole, as peft 0.15.0 saves them under ZeRO-3."""
    version = beside.matching(_PEFT)
    if not version or not _TABLES_ALONE.search(one.at.text) or beside.matching(_OTHER_EMPTY):
        return one
    said = f"{version[0].where} says: {version[1]}; only modules_to_save are empty"
    return replace(one, for_it=(*one.for_it, said), why=TABLES_EMPTY, advice=NEWER_PEFT)


def _of_vocabularies(line: Line) -> tuple[Line, str, str, str] | None:
    """Two last dimensions that are both as long as a vocabulary."""
    found = _MUST_MATCH.search(line.text)
    if not found or min(one := tuple(map(int, found.groups()))) < LEAST or one[0] == one[1]:
        return None
    return (
        line,
        found[0],
        f"two models with vocabularies of {one[0]:,} and {one[1]:,} rows meet here (teacher and "
        "student, policy and reference, target and draft): models of one family pad the same "
        "tokenizer's table to other sizes",
        "cut both logits to len(tokenizer) before they are compared; the rows beyond are padding",
    )


def _shapes(text: str) -> _Shapes | None:
    found = _MISMATCH.search(text)
    if not found:
        return None
    kept, here = (tuple(map(int, found[n].split(","))) for n in ("kept", "here"))
    return _Shapes(found["name"], kept, here)


def _flat(pair: _Shapes) -> tuple[str, str] | None:
    whole, part = math.prod(pair.here), math.prod(pair.kept)
    times = round(whole / part) if part else 0
    if len(pair.kept) != 1 or len(pair.here) < 2 or not 0 < times == round(whole / part, 2):
        return None
    return (
        f"the checkpoint holds flat shards: {part:,} numbers in one row are 1/{times} of "
        f"{' x '.join(map(str, pair.here))}, as FSDP or ZeRO keep it on one of {times} "
        "processes; it was saved without being gathered",
        "save again with a full state dict (FULL_STATE_DICT, trainer.save_model on all ranks), or "
        "merge the shards first (accelerate merge-weights, zero_to_fp32.py)",
    )


def _table(pair: _Shapes) -> tuple[str, str] | None:
    if not _TABLE.search(pair.name) or len(pair.kept) != 2 or pair.kept[1:] != pair.here[1:]:
        return None
    kept, here = pair.kept[0], pair.here[0]
    if here - kept in range(1, 4096) and here % _PAD == 0 and kept % _PAD:
        return (
            f"training had resized the embedding to the tokenizer's {kept:,} tokens (setup_chat_"
            f"format, resize_token_embeddings(len(tokenizer))); the base has {here:,} rows, which "
            "are padded",
            f"load the base, model.resize_token_embeddings({kept}), and then the adapter; next "
            "time do not shrink the table, or save the resized base beside the adapter",
        )
    if kept > here and kept - here < 4096:
        return (
            f"training had added {kept - here:,} tokens: the checkpoint has {kept:,} rows of the "
            f"vocabulary, and the model that is loaded here {here:,}",
            f"load the tokenizer that was saved, model.resize_token_embeddings({kept}), and then "
            "the weights",
        )
    return (
        f"the vocabularies differ: {kept:,} rows in the checkpoint, {here:,} in the model: another "
        "tokenizer or another base model than in training",
        "load it with the tokenizer and the vocabulary size of training",
    )


def _rank(pair: _Shapes) -> tuple[str, str] | None:
    """The side of an adapter's matrix that is its rank."""
    if "lora_" not in pair.name or len(pair.kept) != 2 or len(pair.here) != 2:
        return None
    side = 0 if "lora_A" in pair.name else 1
    if pair.kept[side] == pair.here[side] or pair.kept[1 - side] != pair.here[1 - side]:
        return None
    return (
        f"the adapter was trained with rank {pair.kept[side]}, and one of rank "
        f"{pair.here[side]} is made here",
        f"build it from the adapter_config.json that was saved (r={pair.kept[side]})",
    )


def _width(pair: _Shapes) -> tuple[str, str] | None:
    if "lora_" not in pair.name or len(pair.kept) != 2 or len(pair.here) != 2:
        return None
    side = 1 if "lora_A" in pair.name else 0
    return (
        f"the adapter is of another base model: its layers are {pair.kept[side]} wide at this "
        f"place, and those of the model here {pair.here[side]}; the ranks agree",
        "load the base that adapter_config.json names (base_model_name_or_path)",
    )
