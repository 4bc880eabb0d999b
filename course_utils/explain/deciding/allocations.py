"""What a message about a full GPU says of its size: how many tokens, and whose memory it is."""

import math
import re
from dataclasses import dataclass

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside, is_prose

_ASKED = re.compile(r"Tried to allocate ([\d.]+) ([KMG])i?B")
_VOCABULARY = re.compile(
    r"vocab(?:ulary)?(?:_size)?\W{1,4}(\d{5,6})\b|"
    r"\(\(?\w+, (?:\d+, )?(\d{5,6})\)|\[[\d, ]+, (\d{5,6})\]"
)
_OTHERS = re.compile(r"Process (\d+) has ([\d.]+) ([KMG])i?B memory in use")
_IDLE = re.compile(r"([\d.]+) ([KMG])i?B is reserved by PyTorch but unallocated")
_MOMENTS = re.compile(
    r"state\[.exp_avg\w*.\]|\bin _init_group\b|\bexp_avg_sqs?\b|\binitialize_optimizer_states\b"
)
_ENGINE_CACHE = re.compile(r"\bin _?(?:allocate|initialize)_kv_cache\w*")  # a frame
_SHARE = re.compile(r"\b(?:vllm_)?gpu_memory_utilization['\"]?\s*[:=]\s*[\d.]+")
_ENGINE_KEEPS = re.compile(
    r"\b(?:free_cache_engine|vllm_enable_sleep_mode|enable_sleep_mode)['\"]?\s*[:=]\s*false",
    re.IGNORECASE,
)
_PIXELS = re.compile(r"\b(?:image_)?max_pixels['\"]?\s*[:=]\s*(\d[\d_]*(?:\s*\*\s*\d[\d_]*)*)")
_GRID = re.compile(r"(?:(?<=grid )|(?<=grid_thw )|(?<=\[))\[\d+, ?\d+, ?\d+\]")
_VALUES = re.compile(r"pixel_values\W+(?:\w+\W+)*?\d+, (\d{3,4})\b")
LEAST_SIDE, PIXELS_ABOVE = 14, 1.5  # of a patch; times the limit
_BYTES = {"K": 2**10, "M": 2**20, "G": 2**30}


@dataclass(frozen=True)
class Told:
    proof: tuple[str, ...] = ()
    why: str = ""
    advice: str = ""


def told(one: Finding, beside: Beside) -> Told:
    """What decides why the memory is full: tokens beyond their limit, or other processes."""
    asked = _ASKED.search(one.at.text)
    others = _OTHERS.findall(one.at.text)
    if len(others) > 1:
        return _shared(others)
    if images := _images(beside):
        return images
    if kept := beside.matching(_ENGINE_KEEPS):
        return _engine(kept[0].where, kept[1])
    if made := beside.matching(_ENGINE_CACHE):
        return _cache(made[0].where, made[1], beside)
    if made := beside.matching(_MOMENTS):
        return _moments(made[0].where, made[1])
    size = _vocabulary(beside)
    if not asked or not size or _bytes(asked[1], asked[2]) < 2**30:
        return _fragments(one, asked)
    return _tokens(asked, size, beside)


def _tokens(asked: re.Match, size: int, beside: Beside) -> Told:
    """How many tokens' logits it asked for, against the limit that was set."""
    tokens = _bytes(asked[1], asked[2]) / 4 / size
    said = (
        f"{asked[1]} {asked[2]}iB of float32 over a vocabulary of {size:,} are {tokens:,.0f} tokens"
    )
    limit = beside.number("tokens_per_gpu") or beside.number("max_length")
    if limit is None or not limit.number or tokens < 1.5 * limit.number:
        return Told((said,))
    return Told(
        (said, limit.said),
        why=f"the logits of about {tokens:,.0f} tokens are made at once, "
        f"{tokens / limit.number:.0f} times the limit of {limit.number:,.0f}: that limit does "
        "not hold in this pass",
        advice="find out why the batch of this pass is not split by the limit (another setting for "
        "log-probs, no packing by tokens in this version); until then compute log-probs in chunks",
    )


def _images(beside: Beside) -> Told | None:
    """Images that are read with more pixels than the limit that was set for them."""
    limits = [one for one in beside.all_matching(_PIXELS) if not is_prose(one[0].text)]
    grids = [one for one in beside.all_matching(_GRID) if "grid" in one[0].text.lower()]
    if not limits or not grids:
        return None
    limit = math.prod(int(n.replace("_", "")) for n in _PIXELS.search(limits[-1][1])[1].split("*"))
    line, words = max(grids, key=lambda one: _patches(one[1]))
    rows = beside.matching(_VALUES)
    side = math.isqrt(int(_VALUES.search(rows[1])[1]) // (2 * 3)) if rows else LEAST_SIDE
    pixels = _patches(words) * side**2
    if pixels < PIXELS_ABOVE * limit:
        return None
    return Told(
        (
            f"{line.where}: a grid of {words} patches, {side} pixels wide each, is {pixels:,} "
            f"pixels and about {_patches(words) // 4:,} tokens for one image",
            f"{limits[-1][0].where} says: {limits[-1][1]}, which is {limit:,} pixels",
        ),
        why=f"the GPU's memory is full of image tokens: max_pixels is not in force, and an image "
        f"is read with {pixels / limit:.0f} times as many pixels (some versions of Transformers "
        "set the attribute and go on with image_processor.size)",
        advice="processor.image_processor.size = {'shortest_edge': min_pixels, 'longest_edge': "
        "max_pixels}, or max_pixels in the call of the processor, or resize the images before it; "
        "print image_grid_thw of one batch to see it",
    )


def _patches(words: str) -> int:
    _, high, wide = map(int, re.findall(r"\d+", words))
    return high * wide


def _engine(where: str, line: str) -> Told:
    """The engine that samples holds its weights and cache also while the trainer updates."""
    return Told(
        (f"{where} says: {line}",),
        why="the GPU's memory is full, and the engine that samples on it keeps its weights and its "
        "cache while the trainer works: it is not put to sleep",
        advice="let it free its memory (free_cache_engine=True in verl, "
        "vllm_enable_sleep_mode=True in TRL), or give it a smaller gpu_memory_utilization; a "
        "smaller micro-batch comes after that",
    )


def _cache(where: str, line: str, beside: Beside) -> Told:
    """The frame is the engine's, which takes its share of the GPU for the cache of its replies."""
    share = beside.matching(_SHARE)
    rows = (f"{share[0].where} says: {share[1]}",) if share else ()
    return Told(
        (f"{where} says: {line}", *rows),
        why="the engine that samples finds no room for its cache: it takes a share of the whole "
        "GPU (gpu_memory_utilization), and the trainer's model and optimizer are on the same one",
        advice="a GPU of its own for the engine (in TRL a server: vllm_mode='server'), or a "
        "smaller gpu_memory_utilization; a smaller training batch does not help",
    )


def _moments(where: str, line: str) -> Told:
    """The frame is the optimizer's: forward and backward have had their memory already."""
    return Told(
        (f"{where} says: {line}",),
        why="the memory ends in the optimizer's step, where AdamW makes its two moments: weights, "
        "gradients and moments of all trained weights stand on each GPU, 12 to 16 bytes per "
        "trained weight, whatever the batch",
        advice="spread them over the GPUs (FSDP, ZeRO-2 or ZeRO-3) or offload them, an optimizer "
        "of 8 bits, or LoRA; a smaller batch or shorter rows do not help",
    )


def _shared(others: list[tuple[str, str, str]]) -> Told:
    """Several processes stand on one GPU."""
    sizes = sorted(((_bytes(n, unit), pid) for pid, n, unit in others), reverse=True)
    shown = ", ".join(f"process {pid} {size / 2**30:.1f} GiB" for size, pid in sizes[:4])
    return Told(
        (shown,),
        why=f"{len(others)} processes share this GPU, and together they fill it: what this one "
        "asks for is small",
        advice="end the others (nvidia-smi names them), or give each process a GPU of its own "
        "(CUDA_VISIBLE_DEVICES); a smaller batch here does not help",
    )


def _fragments(one: Finding, asked: re.Match | None) -> Told:
    """Memory that PyTorch holds and cannot give in one piece."""
    idle = _IDLE.search(one.at.text)
    if not asked or not idle or _bytes(idle[1], idle[2]) < 1.5 * _bytes(asked[1], asked[2]):
        return Told()
    return Told(
        (idle[0],),
        why="the GPU's memory is full in pieces: PyTorch holds more unused memory than it asks "
        "for, and none of it in one piece",
        advice="PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True, rows of similar length together, "
        "then a smaller micro-batch",
    )


def _vocabulary(beside: Beside) -> int | None:
    """The size of the vocabulary where a shape or a setting gives it."""
    for line in beside.words:
        if found := _VOCABULARY.search(line.text):
            return int(next(group for group in found.groups() if group))
    return None


def _bytes(number: str, unit: str) -> float:
    return float(number) * _BYTES[unit.upper()]
