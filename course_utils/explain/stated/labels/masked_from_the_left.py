"""Labels that are masked from a row's first place on, in rows that are padded on the left."""

import re
from collections.abc import Iterator

from course_utils.explain.finding import Finding
from course_utils.explain.paste.beside import Beside
from course_utils.explain.paste.log import Log

_LEFT = re.compile(r"\bpadding_side['\"]?\s*[=:]\s*['\"]left\b", re.IGNORECASE)
_FROM_THE_START = re.compile(
    r"\blabels?\w*\[\s*(?:\w+\s*,|\w+\]\[)\s*:\s*(?P<until>[a-z_]\w*(?:\[\w+\])?)\s*\]\s*=\s*-100",
    re.IGNORECASE,
)
_PADS = re.compile(r"\bpadding['\"]?\s*=\s*(?:True|['\"]longest)|\.pad\(|pad_sequence\(")
_MOVED = re.compile(
    r"\bpad_len\w*|num_pad\w*|offset|\.argmax\(|padding_side['\"]?\s*=\s*['\"]right"
)
SURE = 8.8
ON_PADDING = (
    "the prompt is masked from the first place of a row on, and rows are padded on the left: in a "
    "shorter row of the batch the -100 fall on the padding, and as much of the prompt is learnt. "
    "The loss is lower the larger the batch is, since the prompts are easy, and the replies have "
    "a small part of the gradient"
)
PAD_ON_THE_RIGHT = (
    "padding_side='right' while training (left only to generate), or mask by place from the end "
    "(labels[i, :num_padding + n] = -100); the share of tokens with a label must not depend on "
    "the batch size. Then train again"
)


def masked_from_the_left(beside: Beside, log: Log) -> Iterator[Finding]:
    """`padding_side="left"`, a batch that is padded, and `labels[i, :n] = -100`."""
    left, code = beside.matching(_LEFT), beside.matching(_FROM_THE_START)
    if not (left and code and beside.matching(_PADS)) or beside.matching(_MOVED):
        return
    proof = (code[0].says, left[0].says)
    yield Finding("prompt_in_loss", SURE, code[0], proof, why=ON_PADDING, advice=PAD_ON_THE_RIGHT)
