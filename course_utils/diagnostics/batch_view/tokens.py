"""A batch as rows of tokens, each with its label, mask, position and segment. Judges nothing.

Shape letters: B row, T token.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import groupby, pairwise

from torch import Tensor

from course_utils.diagnostics.loss_kind import as_tensor
from course_utils.errors import BadRequest

IGNORED = -100
# In words for those who read the report, since the batch's own keys say it only to its trainer.
BY_LABELS, BY_MASK, BY_NONE = "labels", "completion_mask", "nothing"


@dataclass(frozen=True)
class Token:
    """One position of a row."""

    id: int
    piece: str  # what it stands for, line ends and all
    is_learnt: bool  # it has a label, or stands in the completion
    is_attended: bool
    position: int | None  # None: the model counts by itself
    segment: int  # which document of a packed row, from 0
    label: int = IGNORED  # as the batch gives it; a completion mask stands for the ids


@dataclass(frozen=True)
class Row:
    """One row of a batch; `name` says which, such as "row 2" or "chosen 0"."""

    name: str
    tokens: tuple[Token, ...]

    @property
    def attended(self) -> tuple[Token, ...]:
        return tuple(token for token in self.tokens if token.is_attended)

    @property
    def ids(self) -> list[int]:
        """The ids of the attended tokens."""
        return [token.id for token in self.attended]

    @property
    def learnt(self) -> list[int]:
        """The places, among the attended tokens, of the tokens in the loss."""
        return [place for place, token in enumerate(self.attended) if token.is_learnt]

    @property
    def holes(self) -> list[range]:
        """The places of hidden tokens between two that are attended to, run by run."""
        seen = [place for place, token in enumerate(self.tokens) if token.is_attended]
        return [range(a + 1, b) for a, b in pairwise(seen) if b > a + 1]

    @property
    def has_hole(self) -> bool:
        return bool(self.holes)

    def segments(self) -> Iterator[tuple[Token, ...]]:
        """The attended tokens, one document after the other."""
        for _, tokens in groupby(self.attended, key=lambda token: token.segment):
            yield tuple(tokens)


@dataclass(frozen=True)
class BatchView:
    """A readable batch: its rows of tokens."""

    rows: tuple[Row, ...]
    learnt_by: str  # what says which tokens are learnt: BY_LABELS, BY_MASK or BY_NONE
    has_mask: bool
    has_positions: bool

    @property
    def num_tokens(self) -> int:
        return sum(len(row.attended) for row in self.rows)

    @property
    def num_learnt(self) -> int:
        return sum(len(row.learnt) for row in self.rows)

    @property
    def has_labels_of_others(self) -> bool:
        """Whether a label is another token than that at its place."""
        tokens = (token for row in self.rows for token in row.tokens)
        return any(token.label not in (IGNORED, token.id) for token in tokens)

    @property
    def restarts(self) -> bool:
        """Whether the position ids say that a row holds several documents."""
        return any(row.tokens[-1].segment > 0 for row in self.rows)


def view_of(batch: Mapping[str, object], tokenizer, *, pairs: bool = False) -> BatchView:
    """Read a batch of token ids, on any device.

    Args:
        batch: `input_ids` of shape (B, T), and whatever else a model gets of `labels`,
            `attention_mask` (B, T), `position_ids` and `completion_mask`.
        tokenizer: turns ids into pieces.
        pairs: the first half of the rows are chosen replies, the second rejected ones.

    Raises:
        BadRequest: there are no ids of two axes.
    """
    ids_BT = _ids_of(batch)
    columns = {key: _column(batch, key, ids_BT.shape) for key in KEYS}
    labels, mask = columns["labels"], columns["attention_mask"]
    completion = columns["completion_mask"]
    learnt_by = BY_LABELS if labels else BY_MASK if completion else BY_NONE
    rows = []
    names = _names(len(ids_BT), pairs=pairs)
    for b, ids in enumerate(ids_BT.tolist()):
        positions = columns["position_ids"][b] if columns["position_ids"] else None
        targets = labels[b] if labels else _targets(completion, b, ids)
        attended = [bool(m) for m in mask[b]] if mask else [True] * len(ids)
        rows.append(_row(names[b], ids, targets, attended, positions, tokenizer))
    return BatchView(tuple(rows), learnt_by, bool(mask), bool(columns["position_ids"]))


KEYS = ("labels", "attention_mask", "completion_mask", "position_ids")


def _ids_of(batch: Mapping) -> Tensor:
    ids = as_tensor(batch.get("input_ids"))
    if ids is None:
        saw = f"there are no `input_ids` in the batch; its keys are {', '.join(map(str, batch))}"
        if batch.get("input_ids") is not None:
            saw = "the rows of `input_ids` are of different lengths"
    elif ids.dim() != 2 or not ids.numel():
        saw = f"`input_ids` has the shape {tuple(ids.shape)}"
    elif ids.is_floating_point() or int(ids.min()) < 0:
        saw = "`input_ids` holds numbers that are no token ids (-100 belongs into labels)"
    else:
        return ids
    raise BadRequest(
        saw,
        why="token ids of shape (rows, tokens) are what is read here",
        fix="give what the model gets: collator(rows), or tokenizer(texts, padding=True)",
    )


def _column(batch: Mapping, key: str, shape) -> list[list[int]] | None:
    """One column as lists; one with other axes, such as a 4-d mask, is not read.

    Raises:
        BadRequest: it has rows and tokens, and not those of the ids.
    """
    value = as_tensor(batch.get(key))
    if value is None or value.dim() != 2:
        return None
    if value.shape != shape:
        raise BadRequest(
            f"`{key}` has the shape {tuple(value.shape)}, `input_ids` {tuple(shape)}",
            why="each label and each mask is read beside its token",
            fix="keep all tokens: the model moves labels by one itself (an encoder-decoder is "
            "not read here)",
        )
    return value.tolist()


def _targets(completion, b: int, ids: list[int]) -> list[int]:
    is_learnt = completion[b] if completion else [False] * len(ids)
    return [token if learnt else IGNORED for token, learnt in zip(ids, is_learnt, strict=True)]


def _names(n: int, *, pairs: bool) -> list[str]:
    if not pairs:
        return [f"row {b}" for b in range(n)]
    half = n // 2
    return [f"chosen {b}" for b in range(half)] + [f"rejected {b}" for b in range(n - half)]


def _row(name: str, ids, labels, attended, positions, tokenizer) -> Row:
    """Segments begin where the position ids start again at 0; padding at the end begins none."""
    tokens, segment = [], 0
    for t, token in enumerate(ids):
        position = positions[t] if positions else None
        if position == 0 and t > 0 and attended[t] and positions[t - 1] != 0:
            segment += 1
        piece = tokenizer.decode([token], clean_up_tokenization_spaces=False)
        is_learnt = labels[t] != IGNORED
        tokens.append(Token(token, piece, is_learnt, attended[t], position, segment, labels[t]))
    return Row(name, tuple(tokens))
