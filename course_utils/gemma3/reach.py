"""Measures before training how large a Gemma 3's numbers become, against float16's limit.

Measures one forward pass; it changes nothing.
"""

import math
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass

import torch
from torch import Tensor, nn

from course_utils import zoo
from course_utils.errors import BadRequest
from course_utils.gemma3.stream import text_models
from course_utils.numerics import float_format
from course_utils.shown.report import Report, Table

MARGIN = 8  # three powers of two for texts that reach further than those measured
FLOAT16 = float_format("float16")

TEXTS = (
    "The first number that is not finite is the only one worth looking for.",
    "for step in range(100): loss.backward(); optimizer.step()",
    "17+25=42\n\n\n    9999 * 9999 = 99980001",
)


@dataclass(frozen=True)
class Place:
    """The largest magnitude seen at one place of the network."""

    name: str  # as in the decoder's named_modules(), "stream after ..." for the residual stream
    kind: str  # "stream", "post-norm" (what is added to it), "branch" (inside attention or MLP)
    largest: float

    @property
    def fits(self) -> bool:
        """Whether the number stays finite in float16; nan does not fit."""
        return self.largest < FLOAT16.overflow_at


@dataclass(frozen=True)
class StreamRange(Report):
    """What `check_range` found: would this checkpoint survive float16?"""

    places: tuple[Place, ...]

    def largest(self, kind: str) -> Place:
        """The place of this kind with the largest number; a nan counts as larger than all."""
        own = [place for place in self.places if place.kind == kind]
        return max(own, key=lambda p: math.inf if math.isnan(p.largest) else p.largest)

    @property
    def survives_autocast(self) -> bool:
        """Whether it survives mixed precision: a float32 stream, everything else in float16."""
        return self.largest("post-norm").fits and self.largest("branch").fits

    @property
    def survives_half(self) -> bool:
        """Whether it survives weights in float16: the stream is float16 as well."""
        return all(place.fits for place in self.places)

    @property
    def can_be_rescaled(self) -> bool:
        """Whether a smaller stream is enough: nothing inside the branches is too large."""
        return self.largest("branch").fits

    @property
    def factor(self) -> float:
        """The factor for `rescale_stream`: a power of two, at most 1.

        It is the largest that brings stream and post-norms below 1/8 of float16's limit."""
        largest = max(self.largest("stream").largest, self.largest("post-norm").largest)
        if not 0 < largest < math.inf:
            return 1.0
        return min(1.0, 2.0 ** math.floor(math.log2(FLOAT16.max / MARGIN / largest)))

    @property
    def headline(self) -> str:
        worst = max((self.largest(kind) for kind in ("post-norm", "stream")), key=_size)
        branch = self.largest("branch")
        if not branch.fits:
            return f"float16 cannot hold {branch.name} ({branch.largest:.3g}); rescaling is no help"
        seen = f"largest {worst.largest:.3g} at {worst.name}, float16 ends at {FLOAT16.max:.0f}"
        if self.survives_half:
            return f"Fits into float16: {seen}"
        mode = "in pure float16 only" if self.survives_autocast else "in mixed precision too"
        return f"Overflows float16 {mode}: {seen}; rescale the stream by {self.factor:g}"

    def table(self) -> Table:
        rows = [
            (p.name, p.kind, f"{p.largest:.3g}", f"{p.largest / FLOAT16.max:.2g}", _word(p))
            for p in self.places
        ]
        return Table(columns=("place", "kind", "largest", "of the limit", "float16"), rows=rows)

    def to_dict(self) -> dict:
        return {
            "headline": self.headline,
            "survives_autocast": self.survives_autocast,
            "survives_half": self.survives_half,
            "factor": self.factor,
            "places": [asdict(place) for place in self.places],
        }


def _size(place: Place) -> float:
    return math.inf if math.isnan(place.largest) else place.largest


def _word(place: Place) -> str:
    return "fits" if place.fits else "OVERFLOWS"


@torch.no_grad()
def check_range(
    model: "str | nn.Module", batch: Mapping[str, Tensor] | None = None, *, device: str = "auto"
) -> StreamRange:
    """Measure how large the numbers of a Gemma 3 become, and judge them by float16's range.

    Args:
        model: path, hub id, or a loaded model. A name is loaded in float32; a loaded model is
            measured as it is, and should be float32 or bfloat16, which have the range to measure.
        batch: what its forward takes (input_ids, attention_mask); default: a few sentences.
        device: for a name.

    Returns:
        A report: `survives_autocast`, `survives_half`, `factor`, `can_be_rescaled`, and a table.

    Raises:
        ModelUnavailable: there is no such model.
        BadRequest: it is not a Gemma 3.

    Numerics:
        Sees the given tokens only. Other texts reach further, so a factor keeps a margin of 8.

    >>> found = check_range("tiny-gemma3", device="cpu")
    >>> found.survives_half, found.factor
    (True, 1.0)
    """
    if isinstance(model, str):
        model = zoo.load_policy(model, device=device)
    text = _decoder(model)
    if batch is None:
        tokenizer = zoo.load_tokenizer(model.config.name_or_path)
        batch = tokenizer(list(TEXTS), padding=True, return_tensors="pt")
    device_of = text.embed_tokens.weight.device
    places: dict[tuple[str, str], float] = {}
    with _looking(text, places):
        model(**{name: tensor.to(device_of) for name, tensor in batch.items()})
    return StreamRange(tuple(Place(*key, largest) for key, largest in places.items()))


def _decoder(model: nn.Module) -> nn.Module:
    try:
        return text_models(model)[0]
    except BadRequest as error:
        raise BadRequest(
            error.saw,
            why="the places that are measured here are those of a Gemma 3",
            fix="measure any other model with course_utils.diagnostics: "
            "print(profile_ranges(model, batch, backward=False))",
        ) from error


@contextmanager
def _looking(text: nn.Module, places: dict[tuple[str, str], float]) -> Iterator[None]:
    """In the block, `places` collects the largest magnitude of (name, kind); waits for devices."""

    def note(name: str, kind: str, tensor: Tensor) -> None:
        seen = float(tensor.abs().max())
        before = places.get((name, kind), 0.0)
        places[name, kind] = seen if math.isnan(seen) else max(before, seen)

    with ExitStack() as stack:

        def after(module: nn.Module, name: str, kind: str) -> None:
            hook = module.register_forward_hook(
                lambda _m, _i, out: note(name, kind, out[0] if isinstance(out, tuple) else out)
            )
            stack.callback(hook.remove)

        def before(module: nn.Module, name: str, kind: str) -> None:
            hook = module.register_forward_pre_hook(lambda _m, args: note(name, kind, args[0]))
            stack.callback(hook.remove)

        after(text.embed_tokens, "embed_tokens", "stream")
        for i, layer in enumerate(text.layers):
            for name, module in layer.named_modules():
                if isinstance(module, nn.Linear):
                    after(module, f"layers.{i}.{name}", "branch")
            before(layer.mlp.down_proj, f"layers.{i}.mlp, gate * up", "branch")
            for name in ("post_attention_layernorm", "post_feedforward_layernorm"):
                after(getattr(layer, name), f"layers.{i}.{name}", "post-norm")
            before(layer.pre_feedforward_layernorm, f"stream after layers.{i}.self_attn", "stream")
            after(layer, f"stream after layers.{i}", "stream")
        yield
