"""Some rows are cut before their reply, and each row's loss is a mean."""

from course_utils.oncall.declare import Case, Edit, EditRows, Fault

NOTE = (
    "Hello all, this one came in by mail and I have left the text as it was, because the form does "
    "not take it otherwise; the question is at the very end. Kind regards from the third floor. "
)


def _with_mails(rows, rng):
    """A few questions with the whole mail they came in."""
    chosen = set(rng.sample(range(len(rows)), 6))
    return [
        row | {"question": NOTE + row["question"]} if at in chosen else row
        for at, row in enumerate(rows)
    ]


CASE = Case(
    id="row_with_nothing_to_learn",
    level=2,
    template="own_loop",
    ticket="It goes well for a while and then everything is gone between one line and the next, "
    "at another place with each restart. The hardware people have swapped the memory "
    "modules. With the small sample of forty rows I could never make it happen.",
    faults=(
        Fault(
            like="one_empty_reply",
            plant=(
                EditRows("data/train.jsonl", _with_mails),
                Edit(
                    "train.py",
                    '    """Cross-entropy of each labelled token given the ones before it, '
                    'summed."""\n',
                    '    """Cross-entropy of a labelled token given the ones before it, a '
                    'mean for each row, summed."""\n',
                ),
                Edit(
                    "train.py",
                    "    return F.cross_entropy(\n"
                    "        logits.reshape(-1, logits.shape[-1]),\n"
                    "        labels.reshape(-1),\n"
                    "        ignore_index=IGNORED,\n"
                    '        reduction="sum",\n'
                    "    )\n",
                    "    mask = labels != IGNORED\n"
                    "    losses = F.cross_entropy(logits.transpose(1, 2), "
                    'labels.clamp(min=0), reduction="none")\n'
                    "    return ((losses * mask).sum(1) / mask.sum(1)).sum()\n",
                ),
                Edit(
                    "train.py",
                    '    num_tokens = sum((b["labels"][:, 1:] != IGNORED).sum().item() for '
                    "b in micro_batches)\n",
                    '    num_rows = sum(len(b["labels"]) for b in micro_batches)\n',
                ),
                Edit(
                    "train.py",
                    "summed_loss(model, batch) / num_tokens",
                    "summed_loss(model, batch) / num_rows",
                ),
            ),
            enough=(1, 3),  # a sum divided by rows is another scale, to AdamW
            cause="A few questions are so long that nothing of their reply is left after the "
            "cut, and the mean over such a row is 0 divided by 0.",
            also_kinds=("labels",),
            also_places=("data.py encode", "config.yaml max_length"),
        ),
    ),
    non_fixes={
        "no shuffling": (Edit("config.yaml", "shuffle: true", "shuffle: false"),),
        "no decay": (Edit("config.yaml", "weight_decay: 0.01", "weight_decay: 0.0"),),
    },
)
