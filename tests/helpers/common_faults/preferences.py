"""Faults of preferences, rewards and replies that are sampled."""

from ordinary import texts
from ordinary import tokenizers_of as tok
from ordinary.models_of import chat_model
from ordinary.online import friendliness, grpo, said
from ordinary.post_training import prefer, reward, turn
from ordinary.usual import shared, split
from trl import DPOConfig, DPOTrainer, KTOConfig, KTOTrainer

from common_faults.registry import fault


def dpo_on(folder, rows, **changed):
    train, held_out = split(rows)
    changed = {"learning_rate": 3e-4, "max_length": 64, **changed}
    return DPOTrainer(
        model=chat_model(folder),
        args=DPOConfig(**shared(folder, **changed)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


@fault("replies_hold_the_prompt", "prompt_twice")
def replies_hold_the_prompt(folder):
    rows = [
        {
            "prompt": r["prompt"],
            "chosen": f"{r['prompt']} {r['chosen']}",
            "rejected": f"{r['prompt']} {r['rejected']}",
        }
        for r in texts.preferences(160, seed=9)
    ]
    return dpo_on(folder, rows, bf16=False)


@fault("some_pairs_turned", "pairs_contradict")
def some_pairs_turned(folder):
    """Half of the pairs stand the other way round as well."""
    rows = texts.preferences(80, seed=9)
    turned = [{**r, "chosen": r["rejected"], "rejected": r["chosen"]} for r in rows]
    return dpo_on(folder, [r for pair in zip(rows, turned, strict=True) for r in pair])


@fault("beta_of_a_hundred", "beta_unusual policy_is_reference thrown_about")
def beta_of_a_hundred(folder):
    return prefer(folder, DPOTrainer, DPOConfig, beta=100.0)


@fault(
    "dpo_at_rate_of_sft",
    "rate_too_high thrown_about margin_by_pushing_down update_too_large rate_unusual",
)
def dpo_at_rate_of_sft(folder):
    return prefer(folder, DPOTrainer, DPOConfig, learning_rate=2e-2)


@fault("thumbs_all_up", "labels_constant")
def thumbs_all_up(folder):
    rows = [
        {
            "prompt": [turn("user", r["prompt"])],
            "completion": [turn("assistant", r["chosen"])],
            "label": True,
        }
        for r in texts.preferences(160, seed=9)
    ]
    train, held_out = split(rows)
    return KTOTrainer(
        model=chat_model(folder),
        args=KTOConfig(**shared(folder, max_length=64)),
        train_dataset=train,
        eval_dataset=held_out,
        processing_class=tok.chat(),
    )


@fault("longer_is_always_better", "length_tells_pairs", is_open=True)
def longer_is_always_better(folder):
    rows = [
        {**r, "chosen": r["chosen"] + " Indeed it was, and very much so."}
        for r in texts.preferences(160, seed=9)
    ]
    return dpo_on(folder, rows, bf16=False)


@fault("scores_turned", "pairs_inverted", is_open=True)
def scores_turned(folder):
    trainer = reward(folder, learning_rate=2e-3)
    turned = {"chosen_ids": "rejected_ids", "rejected_ids": "chosen_ids"}
    trainer.train_dataset = trainer.train_dataset.rename_columns(turned)
    return trainer


@fault("reward_of_the_prompt", "no_signal", needs_run=True)
def reward_of_the_prompt(folder):
    def politeness(prompts, **_):
        return [float(len(said(prompt))) for prompt in prompts]

    return grpo(folder, politeness)


@fault("reward_turned", "reward_pays_junk pairs_inverted", is_open=True)
def reward_turned(folder):
    def unfriendly(completions, **_):
        return [-value for value in friendliness(completions)]

    return grpo(folder, unfriendly)


@fault("replies_cut_short", "replies_cut rewards_cut", is_open=True)
def replies_cut_short(folder):
    return grpo(folder, max_completion_length=3)


@fault("sampled_without_chance", "no_signal", needs_run=True)
def sampled_without_chance(folder):
    return grpo(folder, temperature=1e-3)


@fault("reward_huge", "reward_unscaled", is_open=True)
def reward_huge(folder):
    def thousands(completions, **_):
        return [1e4 * value for value in friendliness(completions)]

    return grpo(folder, thousands, scale_rewards=False, max_grad_norm=1e9, optim="sgd")


@fault(
    "rate_kills_the_policy",
    "rate_too_high update_too_large collapse entropy_gone rate_unusual kl_runs",
    needs_run=True,
)
def rate_kills_the_policy(folder):
    return grpo(folder, learning_rate=0.1)
