"""Policies that cannot learn: an adapter's rate, a reward model without a head, one GPU for two."""

import pytest

from tests.helpers.explained import answer, first, keys


def flat(n: int, **other: float) -> str:
    numbers = {"reward": 0.43 + n % 3 / 100, "reward_std": 0.3, "grad_norm": 0.1} | other
    told = ", ".join(f"'{name}': {value}" for name, value in numbers.items())
    return f"{{'loss': 0.00{n % 9}, 'learning_rate': 1e-06, {told}}}"


STILL = [flat(n, kl=1e-5 * n) for n in range(1, 12)]
LORA = "peft_config = LoraConfig(r=16, lora_alpha=32)"


def verl(n: int, entropy: float = 0.412) -> str:
    return (
        f"step:{n} - actor/entropy:{entropy} - actor/pg_clipfrac:0.0 - actor/lr:1e-06 - "
        f"critic/score/mean:0.4{n % 3} - actor/grad_norm:0.04"
    )


@pytest.mark.parametrize(
    "lines",
    [
        [LORA, *STILL],
        ["Full fine-tuning at the same rate has learnt.", "lora_rank: 32", *STILL],
        [
            "+ actor_rollout_ref.model.lora_rank=64",
            "actor.optim.lr=1e-6",
            *map(verl, range(1, 12)),
            "||B|| is 0.004 after 200 steps",
        ],
        [LORA, *(flat(n) for n in range(1, 12)), "norms of lora_B: 0.006"],
    ],
)
def test_an_adapter_at_the_rate_of_whole_models_holds_a_policy_still(lines):
    one = first(*lines)
    assert one.key == "rate_too_low" and "too low for an adapter" in one.says
    assert "2e-5" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        STILL,  # no adapter
        ["lora_rank: 0", *STILL],
        [LORA, *(one.replace("1e-06", "2e-05") for one in STILL)],
        [LORA, *(flat(n, kl=0.02 * n) for n in range(1, 12))],  # it moves
        [LORA, *(flat(n, kl=1e-5 * n, reward=0.4 + n / 30) for n in range(1, 12))],  # it learns
        [LORA, *(flat(n, kl=1e-5 * n, reward_std=0.0) for n in range(1, 12))],  # no signal
        [LORA, *(flat(n) for n in range(1, 12))],  # nothing tells whether it moves
    ],
)
def test_a_policy_that_moves_or_has_no_adapter_is_not_accused(lines):
    assert "rate_too_low" not in keys(*lines)


PPO = [
    f"{{'objective/kl': {n}.2, 'objective/scores': {n / 10}, 'loss/policy_avg': -0.1, 'lr': 3e-6}}"
    for n in range(1, 9)
]
DRAWN = (
    "Some weights of {} were not initialized from the model checkpoint at {} and are newly "
    "initialized: [{}]"
)
SEQ, TOK = "Qwen2ForSequenceClassification", "Qwen2ForTokenClassification"
HEAD = "'score.weight'"


@pytest.mark.parametrize(
    "lines",
    [
        ["--reward_model_path org/base-1b", DRAWN.format(SEQ, "org/base-1b", HEAD), *PPO],
        [
            "reward_model.enable=True reward_model.model.path=/m/org/chat-7B critic.path=/m/c",
            DRAWN.format(TOK, "/m/org/chat-7B", "'score.bias', 'score.weight'"),
            *PPO,
        ],
        ["RM=org/base-1b", "--reward_pretrain $RM", DRAWN.format(SEQ, "org/base-1b", HEAD), *PPO],
        [
            "trainer = GRPOTrainer(model=policy, reward_funcs='org/base-1b', args=args)",
            f"{SEQ} LOAD REPORT from: org/base-1b",
            "Key          | Status  |",
            "score.weight | MISSING |",
            *PPO,
        ],
    ],
)
def test_a_reward_model_whose_head_was_drawn_is_told(lines):
    one = first(*lines)
    assert one.key == "head_is_new" and "is no reward model" in one.says
    assert "train a reward model on pairs first" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [  # the critic begins from the policy
            "reward_model.model.path=org/rm critic.model.path=org/sft",
            DRAWN.format(TOK, "org/sft", HEAD),
            *PPO,
        ],
        ["--reward_model_path org/rm", DRAWN.format(SEQ, "org/rm", "'lm_head.weight'"), *PPO],
        [
            "RewardTrainer(model=model, args=args)  # reward_model_path org/base-1b",
            DRAWN.format(SEQ, "org/base-1b", HEAD),
            *PPO,
        ],
    ],
)
def test_a_critic_and_a_reward_model_in_training_begin_with_a_new_head(lines):
    assert "is no reward model" not in " ".join(one.says for one in answer(*lines).causes)


TWICE = "node1:12:12 [0] init.cc:943 NCCL WARN Duplicate GPU detected : rank 4 and rank 0 both on"
INVALID = "RuntimeError: NCCL error: invalid usage (run with NCCL_DEBUG=WARN for details)"


def test_two_ranks_on_a_gpu_without_a_server_are_told_to_take_one_each():
    one = first("torchrun --nproc_per_node 8 sft.py", TWICE + " CUDA device 1b000", INVALID)
    assert one.key == "gpu_shared" and "set_device" in one.fix and "server" not in one.says


def rounded(rate: str, asked: str) -> list[str]:
    more = " - global_seqlen/min:12033.000 - global_seqlen/max:14212.000 - timing_s/gen:31.125"
    return [
        f"actor_rollout_ref.actor.optim.lr={asked} trainer.total_epochs=2",
        *(
            f"step:{n}{more} - actor/entropy:0.825 - actor/pg_loss:-0.003 - actor/grad_norm:0.136 "
            f"- critic/score/mean:0.1{n} - perf/throughput:1034.123456 - actor/lr:{rate}"
            for n in range(1, 7)
        ),
    ]


def test_a_rate_with_fewer_digits_than_the_one_that_was_asked_for_is_no_rate_of_0():
    assert "rate_zero" not in keys(*rounded("0.000", "1e-6"))
    assert "rate_zero" not in keys(*rounded("0.000000", "1e-7"))
    assert "rate_zero" in keys(*rounded("0.00000000", "1e-6"))
    assert "rate_zero" in keys(*rounded("0.0", "1e-6"))
