"""Processes that read the same rows, groups that mix prompts, images of text that are too small."""

import pytest

from tests.helpers.explained import first


def ranks(apart: float = 0.0) -> list[str]:
    return [
        f"step={n} rank={rank} loss={1.71234 - n / 97 + rank * apart:.5f} tokens={2000 + n * 37}"
        for n in range(1, 7)
        for rank in range(2)
    ]


WRAPPED = "    net = torch.nn.parallel.DistributedDataParallel(net, device_ids=[local_rank])"
SEED = "    set_seed(42)"
LOADER = "    train_loader = DataLoader(rows, batch_size=8, shuffle=True)"


def test_ranks_without_a_sampler_and_with_one_loss_train_on_the_same_rows():
    one = first(WRAPPED, SEED, LOADER, *ranks())
    assert one.key == "ranks_read_the_same" and "all processes train on the same rows" in one.says
    assert any("ranks 0, 1 have one loss in each of 6 steps" in row for row in one.for_it)


def test_one_seed_tells_the_order_and_a_seed_of_each_rank_another():
    one = first(WRAPPED, SEED, LOADER, "it is as slow as with one card")
    assert one.key == "ranks_read_the_same" and "shuffles alike" in one.says
    own = first(WRAPPED, "    set_seed(42 + rank)", LOADER, "it is as slow as with one card")
    assert own.weight < one.weight and "an order of its own" in own.says


def test_ranks_with_one_loss_and_as_many_tokens_need_no_code():
    assert first(*ranks()).key == "ranks_read_the_same"
    assert first(*(row.partition(" tokens")[0] for row in ranks())) is None  # may be a mean


@pytest.mark.parametrize(
    "lines",
    [
        (WRAPPED, SEED, LOADER, "    sampler = DistributedSampler(rows)", *ranks()),
        (WRAPPED, SEED, LOADER, "    net, train_loader = accelerator.prepare(net, train_loader)"),
        (WRAPPED, SEED, LOADER, "    rows = rows.shard(world, rank)"),
        (WRAPPED, SEED, LOADER, "    rows = rows[rank::world]"),
        (WRAPPED, SEED, LOADER.replace("train_loader", "val_loader")),
        (WRAPPED, SEED, LOADER, *ranks(apart=0.03)),
        (SEED, LOADER),
        ("tensor_parallel_size=2", *ranks()),
    ],
)
def test_rows_that_are_split_or_one_process_are_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "ranks_read_the_same"


ADVANTAGE = (
    "    grouped = rewards.reshape(-1, cfg.k); adv = grouped - grouped.mean(1, keepdim=True)"
)
LEARNS = [f"step {n} reward {0.4 + n / 1000:.3f} kl {n / 1000:.4f}" for n in range(1, 9)]
TABLE = ["| row | prompt_id | reward |", *(f"| {n} | q{n % 3} | {n % 2}.0 |" for n in range(9))]


@pytest.mark.parametrize(
    "code",
    [
        "    todo = questions * cfg.k",
        "    ids = batch.prompts.repeat(cfg.k, 1)",
        "    todo = [(q, a) for _ in range(cfg.k) for q, a in zip(questions, answers)]",
        "    todo = [q for _ in range(cfg.k) for q in questions]",
        "    todo = np.tile(questions, cfg.k)",
    ],
)
def test_prompts_that_are_tiled_do_not_fit_groups_of_neighbours(code):
    one = first(code, ADVANTAGE, *LEARNS)
    assert (
        one.key == "groups_mixed"
        and "again and again" in one.says
        and code.strip() in one.for_it[0]
    )
    shown = first(code, ADVANTAGE, *LEARNS, *TABLE)
    assert shown.weight > one.weight and "prompt_id q0, q1, q2" in shown.for_it[2]


@pytest.mark.parametrize("code", ["prompt_ids.repeat(cfg.k, 1)", "torch.cat([prompt_ids] * cfg.k)"])
def test_a_tensor_that_is_repeated_is_tiled_where_it_holds_several_prompts(code):
    one = first("prompts_per_step: 16", f"    ids = {code}", ADVANTAGE, *LEARNS)
    assert one.key == "groups_mixed"


def test_prompts_side_by_side_do_not_fit_groups_by_strides():
    code = "    ids = prompt_ids.repeat_interleave(k, dim=0)"
    one = first(code, "    adv = r.view(k, -1) - r.view(k, -1).mean(0)", *LEARNS)
    assert one.key == "groups_mixed" and "by strides" in one.says


OF_ONE_REQUEST = "    rows = [c for o in outs for c in o.outputs]"


@pytest.mark.parametrize(
    "code",
    [
        (OF_ONE_REQUEST, "    adv = r.view(n, -1) - r.view(n, -1).mean(0)"),
        (OF_ONE_REQUEST, "    r = rewards.reshape(-1, n)", "    adv = r - r.mean(dim=0)"),
    ],
)
def test_the_replies_of_one_request_stand_side_by_side(code):
    one = first(*code, *LEARNS)
    assert one.key == "groups_mixed" and "each beside its copies" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (OF_ONE_REQUEST, ADVANTAGE),
        (OF_ONE_REQUEST, "    r = rewards.view(-1, n)", "    adv = r - r.mean(1, keepdim=True)"),
        (OF_ONE_REQUEST, "    r = rewards.view(-1, n)", "    adv = r - r.mean(1)", "    r.mean(0)"),
        ("    ids = prompt_ids.repeat_interleave(cfg.k, dim=0)", ADVANTAGE),
        ("    todo = [q for q in questions for _ in range(cfg.k)]", ADVANTAGE),
        ("    todo = questions * cfg.k", "    adv = rewards.view(cfg.k, -1).T"),
        ("    todo = questions * cfg.epochs", ADVANTAGE),
        ("    todo = questions * cfg.k", "    rows = sorted(rows)", ADVANTAGE),
        ("    todo = questions * cfg.k", "    x = logits.view(-1, cfg.k)"),
        ("    lr = batch_size * cfg.k / 8", ADVANTAGE),
        (ADVANTAGE,),
        ("    n = batch_size * cfg.k", "    m = num_prompts * cfg.k", ADVANTAGE),
        ("    ids = prompt_ids.repeat(cfg.k, 1)", ADVANTAGE),
        ("num_prompts: 1", "    ids = prompt_ids.repeat(cfg.k, 1)", ADVANTAGE),
        ("16 prompts", "for prompt in rows:", "    ids = prompt_ids.repeat(cfg.k, 1)", ADVANTAGE),
        ("for prompt in prompts:", "    todo += [prompt] * cfg.k", ADVANTAGE),
    ],
)
def test_prompts_in_the_order_of_their_groups_are_not_blamed(lines):
    one = first(*lines, *LEARNS)
    assert one is None or one.key != "groups_mixed"


def test_a_table_with_copies_side_by_side_speaks_against_it():
    rows = ["| row | prompt_id | reward |", *(f"| {n} | q{n // 3} | 1.0 |" for n in range(9))]
    one = first("    todo = questions * cfg.k", ADVANTAGE, *LEARNS, *rows)
    assert one is None or one.key != "groups_mixed"


READS = [f"{{'loss': {1.2 / n:.3f}, 'grad_norm': 1.1, 'epoch': {n / 4}}}" for n in range(1, 9)]
TASK = "we train it to transcribe receipts"
SMALL = "processor = AutoProcessor.from_pretrained(name, max_pixels=128 * 28 * 28)"
SIZES = "image sizes: 1240x1754 1654x2339"


def test_text_in_small_images_is_told_by_the_limit_and_their_size():
    one = first(TASK, SMALL, SIZES, *READS)
    assert one.key == "images_too_small" and "100352" in one.says and "39 times" in one.says
    shown = first(TASK, SMALL, SIZES, *READS, "image_grid_thw: [[1, 26, 18]]")
    assert shown.weight > one.weight and any("364 x 252" in row for row in shown.for_it)


def test_pages_are_told_by_their_dots_an_inch_and_edges_by_their_square():
    one = first("OCR of A4 pages, 300 dpi", '  size: {"longest_edge": 384}', *READS)
    assert one.key == "images_too_small" and "384 x 384" in one.says and "2481 x 3507" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (TASK, SMALL.replace("128", "1280"), SIZES),
        (TASK, SMALL, "image sizes: 336x448 224x224"),
        ("we classify photos of birds", SMALL, SIZES),
        (TASK, SIZES),
        (TASK, SMALL, SIZES, "image_grid_thw: [[1, 120, 84]]"),
    ],
)
def test_images_that_are_large_enough_or_hold_no_text_are_not_blamed(lines):
    one = first(*lines, *READS)
    assert one is None or one.key != "images_too_small"
