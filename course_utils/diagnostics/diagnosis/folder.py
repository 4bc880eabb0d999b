"""Inspects a saved folder: its log, tensors, adapter, tokenizer. Loads no model."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from course_utils.diagnostics.diagnosis.looks.log import look_at_log
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.errors import BadRequest

ADAPTER, FULL = "adapter_config.json", "config.json"
FOR_RESUMING = ("optimizer.pt", "scheduler.pt", "rng_state.pth")
PREFIX = "base_model.model."


def look_into(folder: Path, sheet: Sheet) -> None:
    """Write down the findings on a checkpoint or a saved model.

    Raises:
        BadRequest: there is no such folder, or nothing in it that a run saves.
    """
    names = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    known = {"trainer_state.json", ADAPTER, FULL} | {n for n in names if n.endswith(".safetensors")}
    if not names & known:
        raise BadRequest(
            f"{folder} is no folder that a run saved",
            why="it holds no trainer_state.json, config.json, adapter or safetensors",
            fix="give the folder of a checkpoint, such as outputs/checkpoint-500",
        )
    for what, look in (
        ("the log", _log),
        ("the saved tensors", _tensors),
        ("the adapter", _adapter),
        ("tokenizer and ends", _tokenizer),
        ("what resuming needs", _resuming),
    ):
        with sheet.trying(what):
            look(folder, names, sheet)


def _json(folder: Path, name: str) -> dict[str, Any]:
    path = folder / name
    return json.loads(path.read_text(encoding="utf-8")) if path.is_file() else {}


def _log(folder: Path, _names: set[str], sheet: Sheet) -> None:
    look_at_log(_json(folder, "trainer_state.json").get("log_history", []), sheet)


def _saved(folder: Path) -> Iterator[tuple[str, Any]]:
    """Each tensor of the folder with its name, one at a time."""
    from safetensors import safe_open

    for path in sorted(folder.glob("*.safetensors")):
        with safe_open(path, framework="pt") as file:
            yield from ((name, file.get_tensor(name)) for name in file.keys())  # noqa: SIM118


def _tensors(folder: Path, names: set[str], sheet: Sheet) -> None:
    broken, zero, formats, count = [], [], set(), 0
    for name, tensor in _saved(folder):
        count += 1
        formats.add(str(tensor.dtype).removeprefix("torch."))
        if tensor.is_floating_point() and not bool(tensor.isfinite().all()):
            broken.append(f"{name} holds {int((~tensor.isfinite()).sum())} nan or inf")
        elif tensor.numel() and not bool(tensor.any()):
            zero.append(name)
    if not count:
        sheet.miss("the saved tensors", "there is no safetensors file")
        return
    if broken:
        place = broken[0].split(" ")[0]
        sheet.find("loaded_broken_weight", COUNTED + 1, *broken[:3], place=place)
    halves = [name for name in zero if ".lora_B" in name or ".lora_embedding_B" in name]
    of_b = sum(".lora_B" in name for name, _ in _saved(folder)) if halves else 0
    if halves and len(halves) == of_b:
        said = f"all {of_b} lora_B are exactly 0: nothing was learnt in this adapter"
        sheet.find("adapter_not_loaded", COUNTED, said, place=halves[0])
    if not broken:
        rest = f", {len(zero)} all 0" if zero else ""
        sheet.clear("saved tensors", f"{count} in {', '.join(sorted(formats))}{rest}")


def _adapter(folder: Path, names: set[str], sheet: Sheet) -> None:
    if ADAPTER not in names:
        return
    settings = _json(folder, ADAPTER)
    keys = [name for name, _ in _saved(folder)]
    strange = [key for key in keys if not key.startswith(PREFIX)]
    if not keys:
        sheet.find("adapter_not_loaded", COUNTED, "adapter_config.json without a tensor of it")
    elif strange:
        said = f"{len(strange)} of {len(keys)} keys do not begin with {PREFIX}: {strange[0]}"
        sheet.find("adapter_not_loaded", COUNTED, said, place=strange[0])
    else:
        sheet.clear("adapter", f"{len(keys)} keys, rank {settings.get('r')}")
    doubled = [key for key in keys if key.count(PREFIX) > 1]
    if doubled:
        said = f"{len(doubled)} keys have the prefix twice: {doubled[0]}"
        sheet.find("adapter_not_loaded", COUNTED, said, place=doubled[0])


def _tokenizer(folder: Path, names: set[str], sheet: Sheet) -> None:
    settings = _json(folder, "tokenizer_config.json")
    config = _json(folder, FULL)
    stops = _json(folder, "generation_config.json").get("eos_token_id", config.get("eos_token_id"))
    if not settings:
        sheet.miss("tokenizer and ends", "no tokenizer is saved beside the weights")
        return
    pad, eos = _word(settings.get("pad_token")), _word(settings.get("eos_token"))
    if pad is not None and pad == eos:
        said = f"pad_token and eos_token are both {pad!r}"
        sheet.find("pad_is_eos", LIKELY - 1, said, place="tokenizer_config.json")
    own = _ids_of(folder, settings).get(eos)
    known = set(stops) if isinstance(stops, list) else {stops}
    if own is not None and known != {None} and own not in known:
        said = f"the tokenizer ends with {eos!r} (id {own}), generation stops at {sorted(known)}"
        sheet.find("stops_elsewhere", MEASURED, said, place="generation_config.json")
    elif pad != eos:
        sheet.clear("pad and end", f"{pad!r} and {eos!r}")


def _ids_of(folder: Path, settings: dict[str, Any]) -> dict[str | None, int]:
    """The ids of added tokens; older libraries wrote them into the tokenizer's settings."""
    written = settings.get("added_tokens_decoder", {})
    added = _json(folder, "tokenizer.json").get("added_tokens", ())
    return {_word(token): int(number) for number, token in written.items()} | {
        _word(token): token["id"] for token in added
    }


def _word(token: Any) -> str | None:
    return token.get("content") if isinstance(token, dict) else token


def _resuming(folder: Path, names: set[str], sheet: Sheet) -> None:
    if not folder.name.startswith("checkpoint-"):
        return
    missing = [name for name in FOR_RESUMING if name not in names]
    if len(missing) == len(FOR_RESUMING) or "optimizer.pt" in missing:
        said = f"{', '.join(missing)} {'is' if len(missing) == 1 else 'are'} not in {folder.name}"
        sheet.find("resumed_without_state", LIKELY - 2, said, place=missing[0])
    else:
        sheet.clear("for resuming", "optimizer, schedule and random states are there")
