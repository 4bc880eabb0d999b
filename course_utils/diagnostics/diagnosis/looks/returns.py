"""Looks at a loop's advantages: whether a reward reaches what stands before a tool's reply.

Shape letters: B rows, T tokens.
"""

from collections.abc import Iterator, Mapping

import torch
from torch import Tensor

from course_utils.diagnostics.diagnosis.sheet.finding import COUNTED, LIKELY, Sheet
from course_utils.diagnostics.diagnosis.sheet.subject import Subject

MASKS = ("response_mask", "loss_mask", "action_mask", "completion_mask")
CREDIT = ("returns", "advantages")
REWARDS = ("token_level_rewards", "token_level_scores", "rewards")
FEWEST = 4  # rows with tokens on both sides of a tool's reply
SAME = 1e-6


def look_at_returns(subject: Subject, sheet: Sheet) -> None:
    """Rows that end differently must differ also before the tool's reply, unless turns are paid."""
    batch = subject.batch if isinstance(subject.batch, Mapping) else {}
    of = next((name for name in CREDIT if isinstance(batch.get(name), Tensor)), "")
    mask = next((batch[m] for m in MASKS if isinstance(batch.get(m), Tensor)), None)
    if not of or mask is None or mask.dim() != 2 or mask.shape != batch[of].shape:
        return
    credit, holes = batch[of].float().cpu(), list(_last_holes(mask.bool().cpu()))
    rewards = next((batch[n] for n in REWARDS if isinstance(batch.get(n), Tensor)), None)
    if rewards is not None and rewards.shape != mask.shape:
        rewards = None
    if rewards is not None:  # a turn that is paid for itself may leave the later ones aside
        holes = [one for one in holes if not rewards[one[0], one[1].to(rewards.device)].any()]
    if len(holes) < FEWEST:
        return
    before = torch.stack([credit[b, tokens].mean() for b, tokens, _ in holes])
    after = torch.stack([credit[b, tokens].mean() for b, _, tokens in holes])
    said = f"{of} before it from {_span(before)}, behind it from {_span(after)}"
    if float(before.max() - before.min()) > SAME or float(after.max() - after.min()) <= SAME:
        sheet.clear("credit before a tool's reply", said)
        return
    sheet.find(
        "return_cut",
        COUNTED if rewards is not None else LIKELY,
        f"{len(holes)} rows with a tool's reply inside (mask 0): {said}",
        place=of,
    )


def _last_holes(mask: Tensor) -> Iterator[tuple[int, Tensor, Tensor]]:
    """Row, and its learnt tokens before and behind the last masked ones between them."""
    for b, row in enumerate(mask):
        learnt = row.nonzero()[:, 0]
        gaps = (learnt.diff() > 1).nonzero()
        if len(gaps):
            at = int(gaps[-1]) + 1
            yield b, learnt[:at], learnt[at:]


def _span(values: Tensor) -> str:
    return f"{float(values.min()):.3g} to {float(values.max()):.3g}"
