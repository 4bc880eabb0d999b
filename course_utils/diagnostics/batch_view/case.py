"""A batch with its tokenizer and settings, and the form of a finding about it. Judges nothing."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

from course_utils.diagnostics.batch_view.template import Template, starts_of
from course_utils.diagnostics.batch_view.tokens import BY_NONE, BatchView, Row, Token
from course_utils.diagnostics.loss_kind import OF_TEXT, OF_TOKENS, Loss

TRAINING, PAIRS, SCORES, GENERATION = "training", "pairs", "scores", "generation"


@dataclass(frozen=True)
class Case:
    """A batch, its tokenizer's habits, and the settings that made it, if they are known."""

    view: BatchView
    template: Template
    kind: str  # TRAINING, PAIRS, SCORES or GENERATION
    pad: int | None
    bos: int | None
    max_length: int | None = None
    is_packed: bool = False  # a trainer says so
    serving: Template | None = None  # of the tokenizer that will serve the model
    is_whole_batch: bool = False  # given as a batch, of which only some rows may be shown
    stops_at: tuple[int, ...] = ()  # what the model's generation stops at, where it is known
    stop_texts: tuple[str, ...] = ()  # texts that it stops at as well
    loss: Loss = Loss.NEXT_TOKEN

    @property
    def learns_tokens(self) -> bool:
        return self.kind in (TRAINING, PAIRS) and self.loss in OF_TOKENS | OF_TEXT

    def replies(self, tokens: tuple[Token, ...]) -> Iterator["Reply"]:
        """Every assistant turn of one document, by the template's header."""
        ids = [token.id for token in tokens]
        starts = starts_of(self.template.header, ids)
        for start, following in pairwise([*starts, len(ids)]):
            ends = (at for at in range(start, following) if ids[at] in self.template.ends)
            end = next(ends, None)
            yield Reply(tokens, start, end, is_last=following == len(ids))

    def learnt_replies(self) -> Iterator[tuple[Row, "Reply"]]:
        """The replies with a token in the loss; without a header, the learnt part of a document."""
        for row in self.view.rows:
            for tokens in row.segments():
                found = list(self.replies(tokens)) or [_without_header(tokens, self.template.ends)]
                yield from ((row, reply) for reply in found if reply and reply.is_learnt)


@dataclass(frozen=True)
class Reply:
    """An assistant turn: tokens from `start`, and its end at `end`, if it has one."""

    tokens: tuple[Token, ...]
    start: int
    end: int | None
    is_last: bool

    @property
    def is_learnt(self) -> bool:
        stop = len(self.tokens) if self.end is None else self.end
        return any(token.is_learnt for token in self.tokens[self.start : stop])

    @property
    def end_is_learnt(self) -> bool:
        return self.end is not None and self.tokens[self.end].is_learnt


def _without_header(tokens: tuple[Token, ...], ends: frozenset[int]) -> Reply | None:
    learnt = [at for at, token in enumerate(tokens) if token.is_learnt]
    if not learnt or len(learnt) == len(tokens):
        return None  # plain text, of which no part is a reply
    after = range(learnt[0], len(tokens))
    return Reply(tokens, learnt[0], next((at for at in after if tokens[at].id in ends), None), True)


@dataclass(frozen=True)
class Finding:
    """One thing that was found; a note (`is_fault` False) may well be intended."""

    name: str
    rows: tuple[str, ...]
    saw: str
    cause: str
    fix: str
    is_fault: bool = True


def rows_of(found: list[tuple[Row, object]]) -> tuple[str, ...]:
    """The names of the rows in question, each once."""
    return tuple(dict.fromkeys(row.name for row, _ in found))


def count_of(count: int, whole: int, what: str) -> str:
    """
    >>> count_of(1, 8, "rows"), count_of(8, 8, "rows")
    ('1 of 8 rows', 'all 8 rows')
    """
    return f"all {whole} {what}" if count == whole else f"{count} of {whole} {what}"


def guess_kind(view: BatchView, template: Template) -> str:
    """The purpose of a bare batch: without labels it is to be continued, unless it has ended."""
    if view.learnt_by != BY_NONE:
        return TRAINING
    closed = [any(i in template.ends for i in row.ids[-2:]) for row in view.rows]
    return SCORES if all(closed) else GENERATION
