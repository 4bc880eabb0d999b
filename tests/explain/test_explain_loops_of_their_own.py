"""Loops of somebody's own: who gets the weights, which row is read, what a mask or a sum is of."""

import json

import pytest

from course_utils.explain import explain
from tests.helpers.explained import first, keys


def by_engine(*paces: float, start: float = 0.004) -> list[str]:
    head = "engine_id | step | logp_diff | samples"
    rows = [
        f"e{n} | {step} | {start + pace * step:.4f} | 64"
        for step in (0, 10, 20, 30)
        for n, pace in enumerate(paces)
    ]
    return [head, *rows]


def test_engines_that_alone_leave_the_trainer_get_no_weights():
    one = first("weights are sent after each step", *by_engine(0.0, 0.002, 0.0))
    assert one.key == "stale_sampler" and "reach e0, e2 and not e1" in one.says


@pytest.mark.parametrize(
    "paces", [(0.0, 0.0, 0.0), (0.002, 0.002, 0.002), (0.0, 0.0001, 0.0), (0.0,)]
)
def test_engines_that_move_alike_are_not_told_apart(paces):
    assert "stale_sampler" not in keys(*by_engine(*paces))


PUSH = 'requests.post(f"{GATEWAY}/update_weights_from_disk", json={"model_path": path})'
NGINX = ["upstream llm {", "  server 10.1.0.1:8000;", "  server 10.1.0.2:8000;", "}"]


def test_weights_that_go_through_a_balancer_reach_one_server():
    one = first(PUSH, *NGINX)
    assert one.key == "stale_sampler" and "spreads requests" in one.says and one.against


@pytest.mark.parametrize(
    "lines",
    [
        [PUSH],
        [*NGINX, 'requests.post(f"{GATEWAY}/generate", json=body)'],
        [*NGINX, "for host in servers:", PUSH.replace("GATEWAY", "host")],
    ],
)
def test_weights_that_go_to_each_server_are_not_blamed(lines):
    assert "stale_sampler" not in keys(*lines)


def waiting(grows: bool = True, parts: bool = True) -> list[str]:
    return [
        json.dumps(
            {
                "step": n,
                "reward": 0.4,
                "queue_size": 10 + 30 * n * grows,
                "logprob_abs_diff": 0.006 * (1 + n * parts),
                "pg_clipfrac": 0.0,
            }
        )
        for n in range(1, 12)
    ]


def test_samples_that_wait_ever_longer_are_ever_older():
    one = first("self.ready = asyncio.Queue()", *waiting())
    assert one.key == "stale_sampler" and "340 wait" in one.says and "pg_clipfrac" in one.says


@pytest.mark.parametrize(
    ("code", "log"),
    [
        ("self.ready = asyncio.Queue()", waiting(grows=False)),
        ("self.ready = asyncio.Queue()", waiting(parts=False)),
        ("self.ready = asyncio.Queue(maxsize=n_groups)", waiting()),
        ("self.ready = queue.LifoQueue()", waiting()),
    ],
)
def test_a_queue_that_is_bounded_or_whose_samples_are_young_is_not_blamed(code, log):
    assert not any("wait" in one.says for one in explain("\n".join([code, *log, ""])).causes)


BIAS = "config.moe_router_bias_update_rate = 1e-3"
PUSHED = ["for n, p in model.named_parameters():", "    engine.load_weights([(n, p)])"]
COUNTED = ["vllm: loaded 812 tensors", "sync_weights: 800 tensors in 3 s"]


def test_the_bias_of_a_router_is_no_parameter():
    one = first(BIAS, *PUSHED, *COUNTED)
    assert one.key == "stale_sampler" and any("12 fewer" in row for row in one.for_it)
    assert first(BIAS, *PUSHED).against


@pytest.mark.parametrize(
    "lines",
    [
        PUSHED,
        [BIAS, *PUSHED, "for n, b in model.named_buffers():", "    engine.load_weights([(n, b)])"],
        ["moe_router_bias_update_rate = 0.0", "router.expert_bias", *PUSHED],
        [BIAS, "for n, p in model.named_parameters():", "    p.requires_grad = 'router' not in n"],
        [BIAS, "engine.load_weights(model.state_dict().items())"],
    ],
)
def test_buffers_that_are_sent_or_stand_still_are_not_blamed(lines):
    assert "stale_sampler" not in keys(*lines)


LOADS = [
    "policy = AutoModelForCausalLM.from_pretrained(cfg.init_path)",
    "policy_ref = AutoModelForCausalLM.from_pretrained({}).eval()",
]


def resumed(of: str, again: bool = True, reward: float = 0.0) -> list[str]:
    kls = [0.1 + 0.5 * (n % 6 if again else n) for n in range(12)]
    rows = [
        f"step: {n} - kl: {kl:.3f} - reward: {1 + 0.02 * n + reward * (n > 5):.3f}"
        for n, kl in enumerate(kls)
    ]
    code = [LOADS[0], LOADS[1].format(of)]
    return [*code, "python train.py --model_path out/checkpoint-6", *rows[:6], *rows[6:]]


def test_a_reference_that_is_loaded_with_the_policy_moves_with_each_resume():
    one = first(*resumed("cfg.init_path"))
    assert one.key == "reference_moves" and "kl 2.6" in one.for_it[0] and len(one.for_it) >= 4


@pytest.mark.parametrize(
    "log",
    [
        resumed("cfg.ref_path"),
        resumed("cfg.init_path", again=False),
        resumed("cfg.init_path", reward=-0.8),
        ["sync_ref_model=True", *resumed("cfg.init_path")],
    ],
)
def test_a_reference_of_its_own_or_one_that_is_meant_to_move_is_not_blamed(log):
    assert "reference_moves" not in keys(*log)


NUMBERED = 'data = data.map(lambda row, n: {"idx": n}, with_indices=True)'
READ = ['ids = batch["idx"]', 'gt = data["answer"][idx]']


@pytest.mark.parametrize(
    "code",
    [
        [NUMBERED, "data = data.shuffle(seed=1)", *READ],
        ['data = data.add_column("idx", range(len(data)))', "data = data.sort('length')", *READ],
        [NUMBERED, "data = data.filter(short)", READ[0], 'gold = data[int(idx)]["solution"]'],
        [NUMBERED, "train = data.shuffle(seed=1)", READ[0], 'gold = train[row_id]["answer"]'],
        [
            'rows = [{**row, "idx": n} for n, row in enumerate(rows)]',
            "random.shuffle(rows)",
            'want = rows[sample["idx"]]["label"]',
        ],
        [
            'df["idx"] = range(len(df))',
            "df = df.sample(frac=1.0, random_state=0)",
            'want = df.iloc[sample["idx"]]["label"]',
        ],
    ],
)
def test_rows_that_are_moved_behind_their_numbers_are_read_at_other_places(code):
    one = first(*code)
    assert one.key == "reward_of_other_row" and len(one.for_it) == 3


@pytest.mark.parametrize(
    "code",
    [
        ["data = data.shuffle(seed=1)", NUMBERED, *READ],
        [NUMBERED, "mixed = data.shuffle(seed=1)", *READ],
        [NUMBERED, "data = data.shuffle(seed=1)", 'gt = batch["answer"]', READ[0]],
        [NUMBERED, "data = data.shuffle(seed=1)", 'print(data["answer"][0])', READ[0]],
        [NUMBERED, "data = data.shuffle(seed=1)", NUMBERED, *READ],
    ],
)
def test_rows_that_are_numbered_last_or_carry_their_answer_are_not_blamed(code):
    assert "reward_of_other_row" not in keys(*code)


RENDERED = [
    "for t in range(len(conv)):",
    "    now = tok.apply_chat_template(conv[: t + 1], tokenize=True)",
    "    part = now[len(before):]",
    "    loss_mask.extend([int(conv[t]['role'] == 'assistant')] * len(part))",
]
THINKS = "model: Qwen3-4B, replies begin with <think>"
LENGTHS = ["len(loss_mask) = 700", "len(output_ids) = 900"]


def test_a_mask_of_rendered_prefixes_shifts_where_thoughts_are_left_out():
    one = first(THINKS, *RENDERED, *LENGTHS)
    assert one.key == "tool_results_learnt" and any("200 fewer" in row for row in one.for_it)
    assert first(THINKS, *RENDERED, "The tool result goes back as a user message.").against


@pytest.mark.parametrize(
    "lines",
    [
        [*RENDERED, *LENGTHS],
        [THINKS, *RENDERED],
        ["model: Qwen3-4B-Instruct-2507", *RENDERED, *LENGTHS],
        [THINKS, "preserve_thinking=True", *RENDERED, *LENGTHS],
        [THINKS, *RENDERED, "len(loss_mask) = 900", "len(output_ids) = 900"],
        [THINKS, "ids = tok.apply_chat_template(conv, tokenize=True)", *LENGTHS],
    ],
)
def test_a_mask_without_thoughts_or_of_the_right_length_is_not_blamed(lines):
    assert "tool_results_learnt" not in keys(*lines)


SUMMED = [
    "for micro in batch.chunk(n_micro):",
    "    actor_loss = (-obj * micro.mask).sum() / max_gen_len",
    "    kl_loss = masked_mean(kl, micro.mask)",
    "    loss = actor_loss + beta * kl_loss",
    "    (loss / n_micro).backward()",
]


def test_a_sum_over_the_rows_of_a_micro_batch_grows_with_it():
    one = first(*SUMMED)
    assert one.key == "split_changes_loss" and "actor_loss is summed" in one.says
    assert "while kl_loss is a mean" in one.says


TABLE = [
    "mbs  loss   gnorm  kl",
    "1  0.010  0.11  0.05",
    "2  0.020  0.22  0.05",
    "4 0.040 0.44 0.05",
]


def test_a_table_in_which_a_loss_goes_with_the_micro_batch_is_enough():
    one = first(*TABLE)
    assert one.key == "split_changes_loss" and "loss 0.01 at mbs 1 and 0.04 at 4" in one.for_it[0]


@pytest.mark.parametrize(
    "lines",
    [
        [one.replace("/ max_gen_len", "/ (micro.mask.size(0) * max_gen_len)") for one in SUMMED],
        [one.replace("/ max_gen_len", "/ micro.mask.sum()") for one in SUMMED],
        [one.replace(".sum() /", ".sum(-1).mean() /") for one in SUMMED],
        [one.replace("(loss / n_micro)", "loss") for one in SUMMED],
        ["micro_batch_size: 1", *SUMMED],
        [one.replace("(loss / n_micro)", "(loss * len(micro) / n_micro)") for one in SUMMED],
        ["mbs  mem  loss", "1  10  0.05", "2  20  0.05", "4  40  0.05"],
    ],
)
def test_a_term_that_is_divided_by_its_rows_is_not_blamed(lines):
    assert "split_changes_loss" not in keys(*lines)
