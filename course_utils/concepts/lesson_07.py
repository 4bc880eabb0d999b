"""Lesson 07 in a picture: which tokens of a row a model reads, and which it learns."""

import matplotlib.pyplot as plt

from course_utils.shown import plotting

SHOWN = 9  # the last tokens of the row


def one_row(batch: dict, tokenizer) -> None:
    """Draw the end of a batch's first row: ids, mask and labels; tokens with a label are learnt.

    Args:
        batch: `input_ids`, `attention_mask` and `labels`, each of shape (rows, tokens).
    """
    names = ("input_ids", "attention_mask", "labels")
    last = {name: batch[name][0, -SHOWN:].tolist() for name in names}
    texts = [[str(number) for number in last[name]] for name in names]
    learnt = {text: "alive" for text in texts[2] if text != "-100"}
    pieces = [repr(tokenizer.decode([token]))[1:-1] for token in last["input_ids"]]
    fig, ax = plt.subplots(figsize=(9, 2.2), layout="constrained")
    plotting.draw_grid(ax, rows=list(names), columns=pieces, texts=texts, meanings=learnt)
    ax.tick_params(axis="x", rotation=30)
    ax.set_title("A label of -100 is not learnt; mask 0 is not read")
    of_labels = [piece for piece, label in zip(pieces, last["labels"], strict=True) if label >= 0]
    unread = last["attention_mask"].count(0)
    plotting.show(
        fig,
        f"The end of row 0: {int((batch['labels'][0] != -100).sum())} of its tokens are learnt.",
        alt=f"{SHOWN} tokens of a row, each with its id, mask and label. Labels stand at "
        f"{' '.join(of_labels)} only; the last {unread} have mask 0.",
    )
