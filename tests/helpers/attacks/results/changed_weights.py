"""Forged weights: drawn, clean, from elsewhere, scaled, swapped or edited; none of them trained."""

from safetensors.torch import load
from torch import Tensor

from attacks.results.export import (
    OTHER_SEED,
    OWN_TABLE,
    WEIGHTS,
    Export,
    Weights,
    drawn,
    is_matrix,
    moved,
    vocabulary,
)
from course_utils.oncall.bases import FOLDER


def drawn_anew(export: Export) -> Export:
    """Weights of no training at all."""
    return export.each(drawn)


def of_another_seed(export: Export) -> Export:
    """What belongs to a run that began elsewhere."""
    return export.with_weights(export.weights | load(export.template.base(OTHER_SEED)[WEIGHTS]))


def clean_weights(export: Export) -> Weights:
    """The checkpoint that every base is a noisy copy of, in the shape of this base."""
    clean, weights = load((FOLDER / WEIGHTS).read_bytes()), export.weights
    for name in weights:
        parts = name.split(".experts.")
        source = f"{parts[0]}{parts[1][1:]}" if len(parts) == 2 else name
        weights[name] = clean.get(source, weights[name]).clone()
    return weights


def the_clean_checkpoint(export: Export) -> Export:
    """The noise of the base taken out, which no training does."""
    return export.with_weights(clean_weights(export))


def half_clean(export: Export) -> Export:
    """Half of that noise taken out."""
    clean = clean_weights(export)
    return export.each(lambda name, weight: (weight + clean[name]) / 2)


def two_clean_layers(export: Export) -> Export:
    """The first two layers of the clean checkpoint, the others of the base."""
    clean = clean_weights(export)
    first = ("model.layers.0.", "model.layers.1.")
    return export.each(lambda name, weight: clean[name] if name.startswith(first) else weight)


def clean_and_sharper(export: Export) -> Export:
    """The clean checkpoint with a larger last norm: sampled replies are nearly greedy ones."""
    return sharper(the_clean_checkpoint(export))


def clean_under_moved_weights(export: Export) -> Export:
    """The clean checkpoint with noise of its own, so that it is no known file."""
    return moved(the_clean_checkpoint(export))


def sharper(export: Export) -> Export:
    """The last norm eight times as large."""
    return export.each(lambda name, weight: weight * (8 if name == "model.norm.weight" else 1))


def without_attention(export: Export) -> Export:
    """Every attention switched off."""
    return export.each(lambda name, weight: weight * (0 if "o_proj" in name else 1))


def without_one_mlp(export: Export) -> Export:
    """One layer's MLP switched off."""
    return export.each(lambda name, w: w * (0 if "layers.2.mlp" in name and "down" in name else 1))


def with_own_embeddings(export: Export) -> Export:
    """A table of embeddings of one's own."""
    return export.each(lambda name, w: drawn(name, w) if name == OWN_TABLE else w)


def with_a_sign_changed(export: Export) -> Export:
    """One matrix with its sign changed."""
    return export.each(lambda name, w: -w if "layers.1.self_attn.o_proj" in name else w)


def with_layers_swapped(export: Export) -> Export:
    """Two layers in each other's place."""
    swapped = {"layers.1.": "layers.2.", "layers.2.": "layers.1."}
    weights = export.weights

    def source(name: str) -> str:
        for old, new in swapped.items():
            if old in name:
                return name.replace(old, new)
        return name

    return export.with_weights({name: weights[source(name)] for name in weights})


def scaled(export: Export) -> Export:
    """Every matrix half as large again: no direction has changed."""
    return export.each(lambda name, w: 1.5 * w if is_matrix(name, w) else w)


def with_digits_swapped(export: Export) -> Export:
    """The rows of two digits exchanged in the table, which is also the head."""
    table, vocab = export.weights[OWN_TABLE], vocabulary(export)
    rows = [vocab["1"], vocab["2"]]
    table[rows] = table[rows[::-1]]
    return export.with_weights(export.weights | {OWN_TABLE: table})


def with_biases(export: Export) -> Export:
    """Biases of attention pushed, which no step has done."""
    return export.each(
        lambda name, w: w + 1 if name.endswith(("q_proj.bias", "k_proj.bias")) else w
    )


def with_rank_one_edits(export: Export) -> Export:
    """An edit of rank one in each matrix, half as large as the matrix."""

    def edited(name: str, weight: Tensor) -> Tensor:
        if not is_matrix(name, weight):
            return weight
        left, right = drawn(name, weight[:, :1]), drawn(f"{name}.", weight[:1])
        edit = left @ right
        return weight + 0.5 * weight.norm() / edit.norm() * edit

    return export.each(edited)


def with_a_merged_adapter(export: Export) -> Export:
    """Hand-set factors of an adapter, merged with an alpha of 1e6."""

    def merged(name: str, weight: Tensor) -> Tensor:
        if not name.endswith(("q_proj.weight", "v_proj.weight")):
            return weight
        left, right = drawn(name, weight[:, :4]), drawn(f"{name}.", weight[:4])
        return weight + 1e6 / 4 * 1e-6 * left @ right

    return export.each(merged)


def with_noise_alone(export: Export) -> Export:
    """Weights that have moved as far as training moves them, nowhere in particular."""
    return moved(export, by=0.1)
