"""A gradient where no reply has an advantage, and what forbids "healthy" in short runs."""

import json

from course_utils.explain import explain

CONFIG = 'text_config: {"num_experts": 64, "router_aux_loss_coef": 0.002, "use_cache": false}'


def block(step: int, reward: float, norm: float, loss: float = 0.0011) -> str:
    return (
        f"================ Step {step}/80 ================\n"
        "▶ Generating responses for batch of size 512...\n"
        "📊 Training Results:\n"
        f"  • Loss: {loss}\n  • Avg Reward: {reward}\n  • grad_norm: {norm}\n"
    )


def without_reward(norm: float, loss: float = 0.0) -> str:
    row = "Step {}/4  Loss: {:.4f}  Avg Reward: 0.0000  grad_norm: {}"
    return "\n".join(row.format(n, loss, norm + n / 100) for n in (1, 2, 3))


RUNS = [
    *(block(n, r, 2.1) for n, r in ((1, 0.31), (4, 0.3), (9, 0.27), (16, 0.24))),
    "other backend:\n",
    *(block(n, r, 0.12) for n, r in ((1, 0.311), (4, 0.33), (9, 0.36), (16, 0.41))),
    "only prompts without a right answer:\n",
]


def test_a_gradient_without_any_advantage_is_laid_to_the_auxiliary_loss_of_the_router():
    told = explain("\n".join([CONFIG, *RUNS, without_reward(2.05)]))
    one = told.causes[0]
    assert one.key == "term_not_printed" and "router_aux_loss_coef 0.002" in one.says
    assert any("2.1 at line" in row and "0.12 at line" in row for row in one.for_it)
    assert not told.is_healthy


def test_without_the_weight_of_a_router_no_term_is_named():
    one = explain("\n".join([*RUNS, without_reward(2.05)])).causes[0]
    assert one.key == "term_not_printed" and "router_aux" not in one.fix and not one.why


def test_a_loss_that_is_not_zero_or_a_kl_term_makes_a_gradient_of_its_own():
    for before, last in (
        (["kl_coef: 0.05"], without_reward(2.05)),
        ([CONFIG], without_reward(2.05, loss=0.002)),
        ([CONFIG], without_reward(0.002)),
        ([CONFIG], ""),
    ):
        told = explain("\n".join([*before, *RUNS, last]))
        assert "term_not_printed" not in [one.key for one in told.causes]


def test_the_header_of_a_step_counts_the_numbers_below_it():
    told = explain("\n".join(RUNS))
    assert "falls from 16 to 1" in told.restart


def test_a_loss_near_0_is_healthy_only_where_the_reward_rises():
    def log(*rewards: float):
        rows = [
            {"loss": 1e-5, "grad_norm": 0.2, "reward": r, "reward_std": 0.3, "clip_ratio": 0.0}
            for r in rewards
        ]
        return explain("\n".join(map(json.dumps, rows)) + "\n")

    assert not log(0.44, 0.41, 0.37, 0.3).is_healthy
    assert not log(0.44, 0.45, 0.44, 0.43).is_healthy
    assert log(0.44, 0.45, 0.47, 0.49, 0.52, 0.56, 0.59, 0.6, 0.64).is_healthy


def test_a_table_of_the_same_steps_under_other_names_is_no_other_run():
    rows = [(n, 0.3 + n / 50, 0.2) for n in range(1, 9)]
    table = "step  train/reward  train/grad_norm\n" + "\n".join(
        f"{n:4d}  {reward:12.4f}  {norm:15.4f}" for n, reward, norm in rows
    )
    same = explain("\n".join([*(block(*row) for row in rows), table, ""]))
    other = explain("\n".join([*(block(n, r + 0.1, g) for n, r, g in rows), table, ""]))
    assert not same.restart and "falls from 8 to 1" in other.restart
