"""What code and tables beside a log show of its rows, its sampler, its batches and its judge."""

import pytest

from tests.helpers.explained import first

POLICY = [
    f"step {n} | reward 0.{n} | entropy 0.{9 - n} | grad_norm 0.2 | resp_len 400"
    for n in range(1, 9)
]
LEARNS = [
    f"{{'loss': {2 - n / 10:.2f}, 'grad_norm': 1.1, 'learning_rate': 1e-05, 'epoch': 0.{n}}}"
    for n in range(1, 9)
]
DEFAULT = (
    "INFO Using default completion sampling params from model: "
    "{'temperature': 0.6, 'top_p': 0.95, 'top_k': 40}"
)
ASKS = "    out = client.completions.create(model=name, prompt=ids, temperature=1.0, n=8)"
COUNTED = "outside the top 40 sampled: 0.0001 (policy mass there 0.0120)"


def test_a_server_that_fills_in_settings_samples_another_distribution():
    one = first(DEFAULT, ASKS, *POLICY)
    assert one.key == "logp_disagree" and "top_k 40, top_p 0.95" in one.says
    assert "--generation-config vllm" in one.fix and "top_p 1.0" in one.fix
    assert any("0.0120" in row for row in first(DEFAULT, *POLICY, COUNTED).for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (DEFAULT, ASKS.replace("n=8", "top_p=1.0, extra_body={'top_k': -1}"), *POLICY),
        (DEFAULT.replace("0.95", "1.0").replace("40", "-1"), ASKS, *POLICY),
        (ASKS, *POLICY),
        (DEFAULT, *POLICY, COUNTED.replace("0.0001", "0.0119")),
        (DEFAULT, ASKS, *LEARNS),
    ],
)
def test_a_sampler_that_is_told_everything_or_serves_no_policy_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "logp_disagree"


IDS = "input_ids: [128000, 128006, 882, 128007, 72, 128009, 9906, 0, 128009]"
LABELS = "labels:    [-100, -100, -100, -100, -100, -100, 9906, 0, -100]"


def test_an_end_without_a_label_is_shown_by_two_lists():
    one = first(*LEARNS, IDS, LABELS)
    assert one.key == "end_masked" and "128009" in one.says and "labels[-1]" in one.fix
    both = f"{{'input_ids': {IDS.split(': ')[1]}, 'labels': {LABELS.split(':')[1].strip()}}}"
    assert first(*LEARNS, both).key == "end_masked"
    asked = ">>> sum(r['labels'][-1] != -100 for r in rows)"
    assert any("answers 0" in row for row in first(*LEARNS, IDS, LABELS, asked, "0").for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (IDS, LABELS.replace("0, -100]", "0, 128009]")),
        (IDS.replace("128009]", "128009, 128009]"), LABELS.replace("-100]", "-100, -100]")),
        (IDS.replace("0, 128009]", "0, 64]"), LABELS),
        (IDS.replace("0, 128009]", "128009, 128001]"), LABELS.replace("0, -100]", "128009, -100]")),
        (IDS, LABELS.replace("-100, 9906, 0, -100]", "9906, 0, 128009, -100]")),
    ],
)
def test_an_end_that_is_learnt_padding_or_a_shifted_row_is_not_blamed(lines):
    one = first(*LEARNS, *lines)
    assert one is None or one.key != "end_masked"


JOINED = (
    "    row = list(chain.from_iterable(x['input_ids'] for x in some))",
    "    return {'input_ids': row, 'attention_mask': [1] * len(row)}",
)
PLACES = ("packed rows   1.40  1.52  1.61  1.66", "alone         1.40  1.41  1.40  1.40")


def test_rows_that_are_joined_under_ones_see_each_other():
    one = first(*JOINED, *LEARNS, *PLACES)
    assert one.key == "packing_leak" and "position_ids" in one.fix
    assert any("1.66" in row and "1.4" in row for row in one.for_it)
    said = "class Packer:  # attn_implementation='sdpa'"
    assert first(said, *JOINED, *LEARNS).key == "packing_leak"


@pytest.mark.parametrize(
    "lines",
    [
        (*JOINED, "    row['position_ids'] = restart(lengths)", *LEARNS, *PLACES),
        (*JOINED, *LEARNS, PLACES[0].replace("1.52  1.61  1.66", "1.41  1.40  1.40"), PLACES[1]),
        (JOINED[1], *LEARNS, *PLACES),
        (*JOINED, *LEARNS),
        ("attn_implementation: sdpa", "packing: false", *JOINED, *LEARNS),
    ],
)
def test_rows_that_are_kept_apart_or_lose_nothing_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "packing_leak"


SIZE = "sequence_parallel_size: 4"
SPLIT = (
    "    local = zigzag_split(input_ids, rank)",
    "    targets = torch.roll(local, -1, dims=-1)",
)
BOUNDS = [f"  {n}   {size}   {size // 8} (-14.1 / -0.2)" for n, size in enumerate((800, 640, 1600))]


def test_labels_that_are_rolled_in_a_part_are_wrong_at_its_bounds():
    one = first(SIZE, *SPLIT, *POLICY, *BOUNDS)
    assert one.key == "labels_shifted" and "after the row was split over 4" in one.says
    assert any("1/8" in row for row in one.for_it) and "whole row first" in one.fix
    assert first(SIZE, *SPLIT, *POLICY).key == "labels_shifted"


@pytest.mark.parametrize(
    "lines",
    [
        (SIZE.replace("4", "1"), *SPLIT),
        (SIZE, "    targets = torch.roll(input_ids, -1, dims=-1)", SPLIT[0]),
        (SIZE, "    words = line.split(' ')", "    rest = words[1:]"),
        (SIZE, *SPLIT, "    dist.recv(first_of_next, src=rank + 1)"),
        (SIZE, SPLIT[0], "    targets = zigzag_split(torch.roll(input_ids, -1), rank)"),
    ],
)
def test_labels_of_the_whole_row_are_not_blamed(lines):
    one = first(*lines, *POLICY)
    assert one is None or one.key != "labels_shifted"


def run(steps: int, norm: float, loss: float = 1.5) -> list[str]:
    rows = [f"gradient_accumulation_steps={steps}"]
    return rows + [
        f"{{'step': {n}, 'loss': {loss - n / 20:.3f}, 'grad_norm': {norm - n / 50:.3f}}}"
        for n in range(1, 7)
    ]


def test_gradients_that_grow_with_the_micro_batches_are_summed():
    one = first(*run(1, 0.5), *run(16, 7.9))
    assert one.key == "split_changes_loss" and "16 times as many" in " ".join(one.for_it)
    assert "before backward" in one.fix
    late = "        loss = self.run_and_backward(batch) / num_micro_batches"
    assert first("        loss.backward()", late, *LEARNS).key == "split_changes_loss"


@pytest.mark.parametrize(
    "lines",
    [
        (*run(1, 0.5), *run(16, 0.52)),
        (*run(1, 0.5), *run(16, 7.9, loss=2.5)),
        (*run(4, 0.5), *run(4, 7.9)),
        ("        loss = self.forward(batch) / num_micro_batches", "  loss.backward()", *LEARNS),
        ("  (loss / n_accum).backward()", "  loss = self.do_backward(x) / n_accum", *LEARNS),
    ],
)
def test_one_gradient_however_the_batch_is_split_is_no_fault(lines):
    one = first(*lines)
    assert one is None or one.key != "split_changes_loss"


ASKED = (
    ">>> {g['exp_avg'].dtype for g in opt.state.values()}",
    "{torch.bfloat16}",
)


def changes(*shares: float) -> list[str]:
    return [
        f"step {n}/50 loss {1 - n / 100:.2f} lr {5e-5 / n:.1e} grad_norm 0.5 weights updated {s}"
        for n, s in enumerate(shares, start=1)
    ]


def test_fewer_and_fewer_weights_change_where_bfloat16_holds_them():
    one = first(*changes(0.3, 0.1, 0.05, 0.01), *ASKED)
    assert one.key == "rounding_swallows" and "float32" in one.fix
    assert any("0.01" in row for row in one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (*changes(0.99, 0.98, 0.98, 0.97), *ASKED),
        (*changes(0.3, 0.1, 0.05, 0.01), ASKED[0], "{torch.float32}"),
        changes(0.3, 0.1, 0.05, 0.01),
    ],
)
def test_weights_that_all_change_or_of_another_format_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "rounding_swallows"


def judged(*losses: float) -> list[str]:
    return [
        row
        for n, loss in enumerate(losses, start=1)
        for row in (
            f"{{'loss': {loss:.2f}, 'grad_norm': 1.0, 'epoch': {n}.0}}",
            f"{{'eval_loss': {loss + 0.01:.2f}, 'epoch': {n}.0}}",
        )
    ]


TAKEN = "val_ds = train_ds.shuffle(seed=1).select(range(500))"


def test_rows_to_evaluate_that_are_taken_from_the_training_are_in_both():
    one = first(TAKEN, *judged(1.2, 0.7, 0.3))
    assert one.key == "rows_in_both" and "val_ds out of train_ds" in one.says
    assert "rows of their own" in one.fix
    assert first("dev = train[:200]", *judged(1.2, 0.7, 0.3)).key == "rows_in_both"


@pytest.mark.parametrize(
    "lines",
    [
        (TAKEN, "train_ds = train_ds.select(range(500, len(train_ds)))", *judged(1.2, 0.7, 0.3)),
        (TAKEN, *judged(1.2, 1.19, 1.18)),
        ("if args.eval_file is None:", f"    {TAKEN}", *judged(1.2, 0.7, 0.3)),
        ("train_eval = train[:200]", *judged(1.2, 0.7, 0.3)),
        (TAKEN, "val_ds = load_dataset('json', data_files='v.jsonl')", *judged(1.2, 0.7, 0.3)),
        ("train_ds = train_ds.filter(lambda r: not r['held'])", TAKEN, *judged(1.2, 0.7, 0.3)),
        ("--eval_file data/held_out.jsonl", TAKEN, *judged(1.2, 0.7, 0.3)),
        ("train_ds, val_ds = train_ds.train_test_split(0.1)", *judged(1.2, 0.7, 0.3)),
    ],
)
def test_rows_that_are_left_out_or_not_used_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "rows_in_both"


STOPS = "generation kwargs: {'stop': ['\\n'], 'max_new_tokens': 4096}"
SHORT = "200 rows, tokens mean 61, with </think>: 3"


def test_a_stop_at_a_line_end_cuts_what_reasons():
    one = first(STOPS, SHORT)
    assert one.key == "evaluation_cuts_replies" and "'\\n' is a stop string" in one.says
    assert "empty list" in one.fix
    longer = "the same prompt on the server: 1,950 tokens, finish_reason stop"
    assert first(STOPS, SHORT.partition(", with")[0], longer).key == "evaluation_cuts_replies"


@pytest.mark.parametrize(
    "lines",
    [
        (STOPS.replace("'\\n'", "'<|im_end|>'"), SHORT),
        (STOPS, SHORT.replace("61", "1900")),
        (STOPS, SHORT.replace("think>: 3", "think>: 190")),
        (STOPS.replace("4096", "64"), SHORT),
    ],
)
def test_short_answers_and_other_stops_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "evaluation_cuts_replies"


def test_rows_of_another_epoch_are_told_by_updates_too():
    rows = [
        "upd 3 loss 1.2 rows [5, 9, 14, 30]",
        "upd 4 loss 1.1 rows [7, 2, 41, 33]",
        "upd 13 loss 0.9 rows [8, 1, 22, 35]",
        "upd 14 loss 0.9 rows [6, 3, 44, 31]",
        "loaded state, resuming at update 12",
        "upd 13 loss 0.8 rows [5, 9, 14, 30]",
        "upd 14 loss 0.8 rows [7, 2, 41, 33]",
    ]
    assert "10 steps before" in first(*rows).says
    same = [*rows[:5], *rows[2:4]]
    assert first(*same) is None or "another epoch" not in first(*same).says
