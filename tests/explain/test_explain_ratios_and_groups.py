"""Unpaid forms, groups of one, a KL of the wrong sign, old replies, quick schedules."""

import pytest

from tests.helpers.explained import first


def paid(form: float) -> list[str]:
    return [
        f"{{'loss': 0.0, 'grad_norm': 0.4, 'rewards/correct/mean': 0.{n}, "
        f"'rewards/xml_form/mean': {form}, 'reward': 0.{n}, 'reward_std': 0.3, 'step': {n}}}"
        for n in range(1, 9)
    ]


PROMPT = "prompt tail: '...how many?<|im_end|>\\n<|im_start|>assistant\\n<reasoning>\\n'"
CODE = '    ok = re.match(r"^<reasoning>.*</reasoning>\\s*<answer>", reply, re.S)'
BY_START = '    score = 1.0 if reply.startswith("<reasoning>") else 0.0'


@pytest.mark.parametrize("code", [CODE, BY_START])
def test_a_tag_that_the_prompt_opens_is_asked_of_the_reply(code):
    one = first(PROMPT, code, *paid(0.0))
    assert one.key == "constant_part" and "ends with <reasoning>" in one.says
    assert "rewards/xml_form/mean" in one.says and "put the tag back" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (PROMPT, CODE, *paid(0.4)),
        (PROMPT, CODE.replace("^<reasoning>", "^(?:<reasoning>)?"), *paid(0.0)),
        (PROMPT, CODE, '    reply = "<reasoning>" + reply', *paid(0.0)),
        (PROMPT.replace("<reasoning>\\n", ""), CODE, *paid(0.0)),
        (PROMPT, CODE, "reward_weights: [1.0, 0.0]", *paid(0.0)),
        (PROMPT.replace("reasoning", "scratch"), CODE, *paid(0.0)),
    ],
)
def test_a_form_that_is_paid_or_can_be_is_not_blamed_on_the_prompt(lines):
    one = first(*lines)
    assert one is None or "ends with" not in one.says


def advantages(least: float, mean: float, reward: float = 0.4) -> list[str]:
    return [
        f"step:{n} - actor/pg_loss:-{mean} - actor/grad_norm:0.3 - critic/rewards/mean:{reward} - "
        f"critic/advantages/mean:{mean} - critic/advantages/max:1.0 - "
        f"critic/advantages/min:{least}"
        for n in range(1, 8)
    ]


OF_GROUPS = "algorithm.adv_estimator=rloo actor_rollout_ref.rollout.n=4"
COUNTS = "replies: 96, unique prompts: 24, unique group ids: 96"


def test_advantages_that_are_the_rewards_have_no_baseline():
    one = first(OF_GROUPS, *advantages(0.0, 0.39))
    assert one.key == "groups_of_one" and "4 replies" in one.says
    assert "one id for all replies" in one.fix
    counted = first(OF_GROUPS, COUNTS, *advantages(-0.6, 0.01))
    assert counted.key == "groups_of_one" and any("unique group" in row for row in counted.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (OF_GROUPS, *advantages(-0.6, 0.01)),
        (OF_GROUPS, COUNTS.replace("ids: 96", "ids: 24"), *advantages(-0.6, 0.01)),
        (OF_GROUPS.replace("n=4", "n=1"), *advantages(-0.6, 0.01)),
        (OF_GROUPS.replace("rloo", "gae"), *advantages(0.0, 0.39)),
        (OF_GROUPS, *advantages(0.0, 0.1, 0.9)),
    ],
)
def test_a_baseline_or_an_estimator_without_groups_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or one.key != "groups_of_one"


@pytest.mark.parametrize("asked", ["n=1", "temperature=1.0"])
def test_one_reply_to_each_prompt_is_a_group_of_one(asked):
    one = first(OF_GROUPS.replace("n=4", asked), *advantages(0.0, 0.39))
    assert one.key == "groups_of_one" and "one reply is sampled" in one.says
    assert "several replies" in one.fix


def test_advantages_without_a_baseline_leave_open_how_many_replies_there_are():
    one = first("estimator: grpo", *advantages(0.0, 0.39))
    assert one.key == "groups_of_one" and "one reply is sampled" not in one.says
    assert "how many replies" in one.fix


def held_out(*pairs: tuple[int, float]) -> list[str]:
    return [f"step:{step} - val-core/aime/acc/mean@1:{value}" for step, value in pairs]


def test_an_evaluation_is_read_in_the_order_of_its_steps():
    rises = [f"step:{n} - critic/rewards/mean:0.{n}" for n in range(1, 10)]
    assert first(*rises, *held_out((9, 0.5), (0, 0.3))) is None
    assert first(*rises, *held_out((9, 0.3), (0, 0.5))).key == "proxy_rises_alone"


def kls(last: float, coefficient: float = 0.02) -> list[str]:
    values = [0.001, 0.02, 0.1 * last, 0.4 * last, last]
    return [
        f"step:{n} - actor/kl_loss:{v:.4f} - actor/kl_coef:{coefficient} - actor/pg_loss:0.001 - "
        f"actor/grad_norm:{1 + v:.2f} - critic/score/mean:0.3"
        for n, v in enumerate(values, start=1)
    ]


MINUS = "        loss = loss - self.kl_coef * kl_mean"


@pytest.mark.parametrize("code", [MINUS, "    actor_loss -= beta * kl", "  loss -= kl * kl_coef"])
def test_a_kl_that_is_taken_from_the_loss_is_raised(code):
    one = first(code, *kls(9.0))
    assert one.key == "kl_subtracted" and "wrong sign" in one.says and "add it" in one.fix
    assert code.strip() in " ".join(one.for_it)


@pytest.mark.parametrize(
    "lines",
    [
        (MINUS.replace(" - ", " + "), *kls(9.0)),
        (MINUS, "        return -loss", *kls(9.0)),
        ("    per_token_loss = -(per_token_loss - self.beta * per_token_kl)", *kls(9.0)),
        ("    loss = policy_loss - entropy * entropy_coef", *kls(9.0)),
        (MINUS, *kls(9.0, 0.0)),
        (MINUS, *kls(0.05)),
    ],
)
def test_a_right_sign_or_a_kl_that_stays_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or "wrong sign" not in one.says


def old_replies(kl: float = 0.0, steady: bool = False) -> list[str]:
    rows = []
    for n in range(16):
        apart = 0.01 if steady else 0.01 + 0.02 * (n % 4)
        rows.append(
            f"{{'step': {n}, 'train/loss': 0.001, 'train/grad_norm': 0.5, 'train/ppo_kl': {kl}, "
            f"'train/pg_clipfrac': 0.0, 'train/train_rollout_logprob_abs_diff': {apart:.3f}, "
            f"'rollout/updates_since_sync': {n % 4}, 'rollout/raw_reward': 0.4}}"
        )
    return rows


SETTINGS = "update_weights_interval=4 use_tis=False"


def test_old_replies_with_a_ratio_of_1_are_corrected_by_nothing():
    one = first(SETTINGS, *old_replies())
    assert one.key == "stale_sampler" and "nothing is corrected" in one.says
    assert "use_tis" in one.fix and "log-probs of the engine" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (SETTINGS, *old_replies(kl=0.002)),
        (SETTINGS, *old_replies(steady=True)),
        (SETTINGS.replace("False", "True"), *old_replies()),
        (SETTINGS, "python train.py --use-rollout-logprobs", *old_replies()),
    ],
)
def test_a_ratio_that_moves_or_a_correction_that_is_on_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or "nothing is corrected" not in one.says


def rates(peak: int) -> list[str]:
    def rate(n):
        return 1e-4 * n / peak if n <= peak else 1e-4 * (1 - (n - peak) / 400)

    return [
        f"update {n}/400 loss {2 - n / 400:.3f} grad_norm 1.0 lr {rate(n):.3e}"
        for n in (2, 5, 10, 20, 40, 80, 120, 160)
    ]


PREPARED = ("accelerate launch --num_processes 4 run.py", "sched = accelerator.prepare(scheduler)")


def test_a_warm_up_that_ends_at_its_share_of_a_process_is_stepped_by_each():
    one = first(*PREPARED, "warmup_steps=40", *rates(10))
    assert one.key == "schedule_ends_early" and "4 times too fast" in one.says
    assert "num_processes" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        (*PREPARED, "warmup_steps=40", *rates(40)),
        (PREPARED[0], "warmup_steps=40", *rates(10)),
        (*PREPARED, "warmup_steps=10", *rates(10)),
        (PREPARED[0].replace("4", "1"), PREPARED[1], "warmup_steps=40", *rates(10)),
    ],
)
def test_a_warm_up_at_its_own_pace_is_not_blamed(lines):
    one = first(*lines)
    assert one is None or "too fast" not in one.says
