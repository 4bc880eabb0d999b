"""Looks at rows that keep their text: what their ids decode to, and how much of it was cut."""

import re
from statistics import median
from typing import Any

from torch import Tensor

from course_utils.diagnostics.diagnosis.measures.data_sets import column, columns_of, ids_of
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, MEASURED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject
from course_utils.diagnostics.loss_kind import IGNORED, OF_TEXT, Loss

NUM_ROWS = 32
TEXTS = re.compile(r"^(text|content|sentence\d?|document|article|review|question|prompt)$")
OTHER = 0.3  # of a text's words: fewer are in what another tokenizer makes of it
WHOLE = 0.8  # of them: a text that stands in its row may be a part of it, as a prompt is
UNKNOWN = 0.4  # of the tokens
CUT = 0.5  # of the text, in half of the rows


def look_at_text_and_ids(subject: Subject, sheet: Sheet) -> None:
    tokenizer, trainer = subject.tokenizer, subject.trainer
    if tokenizer is None or trainer is None:
        return
    if subject.loss in OF_TEXT | {Loss.SEQ2SEQ} and _learns_unknown(tokenizer, subject.rows, sheet):
        return
    for name in ("train_dataset", "eval_dataset"):
        data = getattr(trainer, name, None)
        ids = ids_of(data, NUM_ROWS)
        if ids and _unknown(tokenizer, ids, name, sheet):
            return
        if ids and _of_text(tokenizer, data, ids, name, sheet):
            return


def _learns_unknown(tokenizer: Any, batch: Any, sheet: Sheet) -> bool:
    """Replies of the first rows whose words are not in the vocabulary."""
    unknown, special = _unknown_id(tokenizer)
    labels = (batch or {}).get("labels")
    if unknown is None or not isinstance(labels, Tensor):
        return False
    learnt = [one for one in labels.flatten().tolist() if one != IGNORED and one not in special]
    share = learnt.count(unknown) / max(1, len(learnt))
    if share < UNKNOWN:
        return False
    token = tokenizer.unk_token
    sheet.find(
        "tokens_unknown",
        COUNTED + 1,
        f"{share:.0%} of the tokens that the first rows are to learn are {token}",
        place="the tokenizer's vocabulary, the labels",
        why=f"the tokenizer does not know the words of the replies: {token} is what is learnt",
        advice="make the vocabulary from the replies as well as from what stands before them; "
        "with a model that is loaded, its own tokenizer",
    )
    return True


def _unknown_id(tokenizer: Any) -> tuple[int | None, set[int]]:
    """The id of unknown words, None where it has another part as well; the other special ids."""
    unknown = getattr(tokenizer, "unk_token_id", None)
    is_other = unknown in (tokenizer.pad_token_id, tokenizer.eos_token_id)
    return None if is_other else unknown, {i for i in tokenizer.all_special_ids if i != unknown}


def _unknown(tokenizer: Any, ids: list, name: str, sheet: Sheet) -> bool:
    unknown, special = _unknown_id(tokenizer)
    tokens = [one for row in ids for one in row if one not in special]
    share = sum(one == unknown for one in tokens) / max(1, len(tokens))
    if unknown is None or share < UNKNOWN:
        return False
    said = f"{share:.0%} of the tokens of {name} are {tokenizer.unk_token}"
    sheet.find("tokens_unknown", COUNTED + 1, said, place=f"{name}, the tokenizer")
    return True


def _of_text(tokenizer: Any, data: Any, ids: list, name: str, sheet: Sheet) -> bool:
    """The text of each row, and what this tokenizer reads of it, beside what its ids decode to."""
    kept = [one for one in columns_of(data) if TEXTS.match(one)]
    columns = [column(data, one, NUM_ROWS) for one in kept]
    if not columns or not all(isinstance(text, str) for texts in columns for text in texts):
        return False
    texts = [" ".join(parts) for parts in zip(*columns, strict=True)]
    read = [_decoded(tokenizer, row) for row in ids]
    encoded = [tokenizer(text, add_special_tokens=False)["input_ids"] for text in texts]
    own = [_words(_decoded(tokenizer, row)) for row in encoded]
    pairs = zip(map(_words, texts), own, map(_words, read), strict=True)
    rows = [(text, own, said) for text, own, said in pairs if len(text) >= 3]
    if len(rows) < NUM_ROWS / 2:
        return False
    kept_share = median(len(said) / max(len(text), len(own)) for text, own, said in rows)
    common = median(_share(said, {*text, *own}) for text, own, said in rows)
    if common < OTHER and median(_share(own, {*said}) for _, own, said in rows) < WHOLE:
        specimen = (f"text: {texts[0][:70]!r}", f"its ids, decoded: {read[0][:70]!r}")
        said = f"of the words that the ids of {name} decode to, {common:.0%} are in the row's text"
        sheet.find("other_tokenizer", MEASURED, said, place=name, specimen=specimen)
        return True
    if kept_share < 1 - CUT and _are_windows(data, kept):
        sheet.show(f"text of {name}", "rows of one text hold different parts of it")
        return False
    if kept_share < 1 - CUT:
        _cut(tokenizer, texts, ids, kept_share, name, sheet)
        return True
    sheet.clear(f"text of {name}", f"its ids decode to {min(kept_share, 1):.0%} of its words")
    return False


def _are_windows(data: Any, names: list[str]) -> bool:
    """Whether some text has rows of different ids: each row is a window of it, and none is cut."""
    texts = zip(*(column(data, name) for name in names), strict=True)
    seen: dict[tuple, list] = {}
    pairs = zip(texts, ids_of(data), strict=False)
    return any(seen.setdefault(text, row) != row for text, row in pairs)


def _cut(tokenizer: Any, texts: list, ids: list, share: float, name: str, sheet: Sheet) -> None:
    longest = max(len(row) for row in ids)
    sheet.find(
        "too_long",
        COUNTED + 1 if any(one.key == "rows_alike" for one in sheet.found) else LIKELY,
        f"half of the rows of {name} keep at most {share:.0%} of their words; the longest row has "
        f"{longest} tokens",
        place=f"truncation, max_length={longest}",
        why=f"rows are cut at {longest} tokens, and lose most of their text",
        advice=f"a max_length above {longest}; count how long the rows are",
        specimen=(
            f"text: {texts[0][-80:]!r}",
            f"kept of it: {tokenizer.decode(ids[0], skip_special_tokens=True)[-60:]!r}",
        ),
    )


def _decoded(tokenizer: Any, ids: list[int]) -> str:
    return tokenizer.decode(ids, skip_special_tokens=True)


def _share(words: list[str], known: set[str]) -> float:
    """How many of the words are among those that are known, each counted once.

    >>> _share(["the", "fox", "the"], {"the", "hen"})
    0.5
    """
    return len({*words} & known) / max(1, len({*words}))


def _words(text: str) -> list[str]:
    return re.findall(r"\w+", text.lower())
