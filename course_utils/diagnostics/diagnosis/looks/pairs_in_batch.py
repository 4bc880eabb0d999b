"""Looks at the two rows of each pair of a batch: they begin alike, and then differ."""

from torch import Tensor

from course_utils.diagnostics.batch_view.rows import first_rows
from course_utils.diagnostics.diagnosis.looks.told_apart import SIDES
from course_utils.diagnostics.diagnosis.measures.data_sets import columns_of
from course_utils.diagnostics.diagnosis.measures.specimens import SHOWN, quoted
from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

Split = tuple[list[int], list[int]]  # the tokens of a prompt, and those of its reply


def look_at_pairs_in_batch(subject: Subject, sheet: Sheet) -> None:
    """Chosen and rejected must begin with the same tokens and then differ."""
    ids, mask = subject.rows.get("input_ids"), subject.rows.get("completion_mask")
    if not isinstance(ids, Tensor) or not isinstance(mask, Tensor) or len(ids) % 2:
        return
    n = len(ids) // 2
    split = [(_prompt_of(ids, mask, b), _reply_of(ids, mask, b)) for b in range(2 * n)]
    pairs = [(split[b], split[b + n]) for b in range(n)]
    twice = {i: chosen for i, (chosen, rejected) in enumerate(pairs) if chosen[1] == rejected[1]}
    foreign = sum(chosen[0] != rejected[0] for chosen, rejected in pairs)
    if len(twice) >= max(1, n // 2):
        _are_alike(subject, twice, n, sheet)
    if foreign:
        sheet.find("pair_prompts_differ", COUNTED, f"the prompts differ in {foreign} of {n} pairs")
    if not twice and not foreign:
        sheet.clear("pairs", f"{n} pairs begin alike and differ")


def _are_alike(subject: Subject, twice: dict[int, Split], n: int, sheet: Sheet) -> None:
    """Name pairs whose two replies are one, with the cut that took what differed, if one did."""
    at, (prompt, reply) = next(iter(twice.items()))
    said = "what differed is before the reply, where nothing is learnt, or was cut off"
    why = f"in {len(twice)} of {n} pairs chosen and rejected have the same reply tokens"
    advice = "render prompt and finished chat so that the one begins the other, and raise "
    advice += "max_length"
    if limit := _cut_at(subject, twice):
        said = "in train_dataset the two replies of each of these pairs differ"
        why += f": the rows are cut at {limit} tokens, and what differs is cut off"
        advice = f"raise max_length={limit} above the length of a prompt and its reply"
    sheet.find(
        "pairs_alike",
        COUNTED + 1 if limit else COUNTED,  # that the ends are cut off as well matters less
        said,
        place="max_length" if limit else "chosen, rejected",
        why=why,
        advice=advice,
        specimen=(
            f"pair {at}: prompt ends {quoted(subject.tokenizer.decode(prompt[-SHOWN:]))}",
            f"pair {at}: both replies are {quoted(subject.tokenizer.decode(reply))}",
        ),
    )


def _cut_at(subject: Subject, twice: dict[int, Split]) -> int:
    """The max_length that all these rows fill, and behind which their replies differ; else 0."""
    limit = getattr(subject.args, "max_length", None)
    data = getattr(subject.trainer, "train_dataset", None)
    known = next((pair for pair in SIDES[:2] if set(pair) <= set(columns_of(data))), None)
    if not limit or known is None or any(len(p) + len(r) != limit for p, r in twice.values()):
        return 0
    rows = first_rows(data, max(twice) + 1)
    chosen, rejected = known
    return limit if all(list(rows[i][chosen]) != list(rows[i][rejected]) for i in twice) else 0


def _prompt_of(ids: Tensor, mask: Tensor, b: int) -> list[int]:
    first = int(mask[b].argmax()) if bool(mask[b].any()) else len(mask[b])
    return ids[b, :first].tolist()


def _reply_of(ids: Tensor, mask: Tensor, b: int) -> list[int]:
    return ids[b][mask[b].bool()].tolist()
