"""Loops of one's own for a policy: signs, log-probs and shapes in their code."""

import pytest

from tests.helpers.explained import first, keys


def run(rewards, kl: float = 0.01) -> list[str]:
    return [
        f"step {n} reward {reward} kl {kl * n**2:.4f} grad_norm 0.9 loss 0.00{n}"
        for n, reward in enumerate(rewards, 1)
    ]


FALLS, RISES = run([0.38, 0.33, 0.3, 0.2, 0.1, 0.05, 0.04]), run([0.3, 0.33, 0.36, 0.4, 0.5, 0.6])
CLIPPED = ["s1 = ratio * adv", "s2 = ratio.clamp(1 - eps, 1 + eps) * adv"]
MISSING = [*CLIPPED, "loss = (torch.min(s1, s2) * mask).sum() / mask.sum()", "loss.backward()"]
FUNCTION = [
    "def policy_loss(lp, old, advantages):",
    "    ratio = (lp - old).exp()",
    "    goal = torch.minimum(ratio * advantages, torch.clamp(ratio, 0.8, 1.2) * advantages)",
    "    return goal.mean()",
    "accelerator.backward(policy_loss(lp, old, adv) + 0.01 * kl)",
]
REINFORCE = ["loss = (seq_logp * advantage).mean()", "loss.backward()"]


@pytest.mark.parametrize("code", [MISSING, FUNCTION, REINFORCE, MISSING[:3]])
def test_an_objective_that_is_minimised_is_told(code):
    one = first(*code, *FALLS)
    assert one.key == "objective_minimised" and "put the minus" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [one.replace("(torch.min", "-(torch.min") for one in MISSING] + FALLS,
        [*MISSING[:-1], "(-loss).backward()", *FALLS],
        [*MISSING, "AdamW(p, lr=1e-6, maximize=True)", *FALLS],
        [*MISSING, *RISES],
        [*MISSING[:3]],  # who knows what is done with it
        ["def policy_loss():", *MISSING[:3], "return -loss", *FALLS],
        [*FUNCTION[:3], "    return -goal.mean()", FUNCTION[4], *FALLS],
        [*FUNCTION[:4], "(-1.0 * policy_loss(lp, old, adv)).backward()", *FALLS],
        [
            "loss = torch.max(-adv * ratio, -adv * ratio.clamp(0.8, 1.2)).mean()",
            "loss.backward()",
            *FALLS,
        ],
        [REINFORCE[0].replace("(seq", "-(seq"), REINFORCE[1], *FALLS],
        ["nll = -logp", "loss = (nll * advantage).mean()", "loss.backward()", *FALLS],
    ],
)
def test_an_objective_with_its_minus_is_not_accused(lines):
    assert "objective_minimised" not in keys(*lines)


OBJECTIVE = "pg = -torch.min(ratio * A, ratio.clamp(0.8, 1.2) * A)"
FAR = run([0.4, 0.38, 0.3, 0.25, 0.2, 0.15], kl=0.1)


@pytest.mark.parametrize(
    "code",
    [
        [OBJECTIVE, "loss = pg.mean() - 0.05 * kl.mean()", "loss.backward()"],
        [OBJECTIVE, "loss = ((pg - beta * kl_ref) * mask).sum()", "loss.backward()"],
        ["loss = -(torch.min(ratio * A, ratio.clamp(.8, 1.2) * A)).mean() - beta * kl.mean()"],
        [OBJECTIVE.replace("-torch", "torch"), "loss = -(pg + beta * kl).mean()"],
    ],
)
def test_a_kl_that_is_taken_from_the_loss_is_told(code):
    one = first(*code, *FAR)
    assert one.key == "kl_subtracted" and "add the KL" in one.fix


@pytest.mark.parametrize(
    "code",
    [
        [OBJECTIVE, "loss = pg.mean() + 0.05 * kl.mean()", "loss.backward()"],
        [OBJECTIVE.replace("-torch", "torch"), "loss = -(pg - beta * kl).mean()"],
        [OBJECTIVE, "rewards = score - beta * kl", "loss = pg.mean()", "loss.backward()"],
        [OBJECTIVE, "kl = ref_logp - logp", "loss = pg.mean() - beta * kl.mean()"],
        [OBJECTIVE, "loss = pg.mean() - 0.01 * entropy.mean()", "loss.backward()"],
    ],
)
def test_a_kl_that_is_added_or_taken_from_the_reward_is_not_accused(code):
    assert "kl_subtracted" not in keys(*code, *FAR)


EPOCHS = ["for epoch in range(4):", "    for mb in minibatches(rollout, 64):"]
NOW = ["        old_logp = logps(model, mb.ids)", "        logp = logps(model, mb.ids)"]
RATIO = ["        ratio = (logp - old_logp).exp()", "        opt.step()"]
ONES = [f"it {n} reward 0.4{n} ratio 1.0000 clipfrac 0.0000 kl 0.0{n}" for n in range(1, 8)]


@pytest.mark.parametrize(
    "lines",
    [
        [*EPOCHS, *NOW, *RATIO, *ONES],
        [EPOCHS[0], "    with torch.no_grad():", *NOW, *RATIO],
        [
            "for _ in range(num_updates):",
            "    old_lp = get(policy, b).detach()",
            "    new_lp = get(policy, b)",
            *ONES,
        ],
    ],
)
def test_old_log_probs_of_the_moment_are_told(lines):
    one = first(*lines)
    assert one.key == "old_is_current" and "before the first update" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [NOW[0], *EPOCHS, NOW[1], *RATIO],  # before the loops
        ["for batch in loader:", *NOW, *RATIO, *ONES],  # one update for each rollout
        [*EPOCHS, NOW[0].replace("model", "ref_model"), NOW[1], *RATIO],
        [*EPOCHS, *NOW, *RATIO, *(one.replace("clipfrac 0.0000", "clipfrac 0.03") for one in ONES)],
        [*EPOCHS, "        old_logp = mb.old_logp", NOW[1], *RATIO],
    ],
)
def test_old_log_probs_that_are_kept_are_not_accused(lines):
    assert "old_is_current" not in keys(*lines)


SLICED = [
    "logits = model(input_ids=ids, attention_mask=am).logits[:, n_prompt:]",
    "targets = ids[:, n_prompt:]",
    "logp = torch.log_softmax(logits, -1)",
    "new = torch.gather(logp, 2, targets.unsqueeze(-1)).squeeze(-1)",
    "ratio = (new - old).exp()",
]


def test_logits_and_ids_that_are_cut_at_one_place_are_not_shifted():
    one = first(*SLICED, *FALLS)
    assert one.key == "loss_not_shifted" and "targets" in one.says


def test_they_may_be_cut_in_the_call_that_looks_them_up():
    call = "lp = selective_log_softmax(out.logits[:, P:], input_ids[:, P:])"
    assert first(call, "ratio = (lp - old).exp()", *FALLS).key == "loss_not_shifted"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (".logits[:, n_prompt:]", ".logits[:, n_prompt - 1 : -1]"),
        (".logits[:, n_prompt:]", ".logits[:, :-1][:, n_prompt:]"),
        ("targets = ids[:, n_prompt:]", "targets = ids[:, 1:][:, n_prompt:]"),
        ("targets = ids[:, n_prompt:]", "targets = completion_ids"),
        ("logits = model(", "# T5ForConditionalGeneration, seq2seq\nlogits = model("),
    ],
)
def test_logits_that_are_moved_by_one_are_sound(old, new):
    text = "\n".join([*SLICED, *FALLS])
    assert old in text
    assert "loss_not_shifted" not in keys(*text.replace(old, new).split("\n"))


LEFT = ['tokenizer.padding_side = "left"', "logits = policy(input_ids=ids).logits[:, k - 1 : -1]"]


def test_a_forward_pass_over_rows_padded_on_the_left_needs_their_mask():
    one = first(*LEFT, "lp = gather(logits, ids)")
    assert one.key == "padding_attended" and "position_ids" in one.fix


def test_rows_with_more_padding_that_are_further_off_bear_it_out():
    table = ["row pads abs_diff", "0 0 0.01", "1 200 0.4", "2 500 1.3"]
    one = first(*LEFT, "lp = gather(logits, ids)", *table)
    assert one.weight > 9 and any("1.3 with 500" in row for row in one.for_it)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("input_ids=ids)", "input_ids=ids, attention_mask=mask)"),
        ("input_ids=ids)", "ids, mask)"),
        ("input_ids=ids)", "**batch)"),
        ('"left"', '"right"'),
        ("policy(input_ids=ids).logits", "policy.generate(input_ids=ids).logits"),
    ],
)
def test_a_mask_or_padding_on_the_right_is_sound(old, new):
    text = "\n".join([*LEFT, "lp = gather(logits, ids)", *FALLS])
    assert old in text
    assert "padding_attended" not in keys(*text.replace(old, new).split("\n"))


SHAPES = "rewards torch.Size([32]) values torch.Size([32, 1])"


@pytest.mark.parametrize(
    "lines",
    [
        ["adv = rewards - values.detach()", SHAPES],
        ["adv = rewards - values", "rewards.shape: (32,)  values.shape: (32, 1)"],
        ["delta = values - rewards", "rewards [32]", "values [32, 1]"],
    ],
)
def test_a_row_minus_a_column_is_told(lines):
    one = first(*lines, *RISES)
    assert one.key == "labels_shape" and "32 x 32" in one.says
    assert "values.squeeze(-1)" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        ["adv = rewards - values.squeeze(-1)", SHAPES],
        ["adv = rewards - values", SHAPES.replace("[32, 1]", "[32]")],
        ["adv = rewards - values", SHAPES.replace("[32]", "[32, 1]")],
        ["adv = rewards - values", SHAPES.replace("32", "1")],
    ],
)
def test_equal_shapes_are_sound(lines):
    assert "labels_shape" not in keys(*lines, *RISES)
