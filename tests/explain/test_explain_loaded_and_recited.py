"""Files of which no name is the model's, rows known by heart, and a score that nothing holds."""

import pytest

from tests.helpers.explained import answer, first, key

FALLS = [f"step {n} | loss {11.9 - n / 4:.2f} | grad_norm 3.{n} | lr 1e-4" for n in range(8)]
DRAWN = "net = AutoModelForCausalLM.from_config(cfg); out = net.load_state_dict(sd, strict=False)"


@pytest.mark.parametrize(
    "told",
    [
        "restored ckpt_9.pt: missing keys: 148 | unexpected keys: 148",
        "resume: 1,204 missing, 1,204 unexpected",
        "missing_keys=64 unexpected_keys=64",
        "_IncompatibleKeys(missing_keys=['h.0.ln.weight', 'h.1.ln.weight'], "
        "unexpected_keys=['module.h.0.ln.weight', 'module.h.1.ln.weight'])",
    ],
)
def test_as_many_names_missing_as_unexpected_load_nothing(told):
    one = first(told, DRAWN, *FALLS)
    assert one.key == "guesses" and "did not reach the model" in one.says
    assert "strict=True" in one.fix and "drawn at random" in one.says


def test_the_prefix_is_named_on_the_side_that_has_it():
    lists = "missing_keys=['net.w.bias'], unexpected_keys=['w.bias']"
    assert "has net. before it in the model and not in the file" in first(lists, *FALLS).says


@pytest.mark.parametrize(
    "told",
    [
        ["restored ckpt_9.pt: missing keys: 1 | unexpected keys: 0"],
        ["head replaced: missing keys: 2 | unexpected keys: 2"],
        ["encoder only: 24 missing, 198 unexpected"],
        ["first try: missing=148 unexpected=148", "prefix off: missing=0 unexpected=0"],
        ["missing=148 unexpected=148", "<All keys matched successfully>"],
        ["missing_keys=['score.weight'], unexpected_keys=['lm_head.weight']"],
    ],
)
def test_a_new_head_a_part_or_a_load_that_was_mended_is_not_accused(told):
    assert not key(*told, *(line.replace("loss 1", "loss ") for line in FALLS))


def judged(train: list[float], held_out: list[float]) -> list[str]:
    rows = enumerate(zip(train, held_out, strict=True), start=1)
    return [f"epoch={n} loss={one:.3f} eval_loss={two:.3f}" for n, (one, two) in rows]


LEARNT = judged([2.1, 1.2, 0.5, 0.2, 0.08, 0.05], [1.8, 1.6, 1.9, 2.3, 2.7, 2.9])
TOLD = "Whatever I ask, it gives one of our training answers verbatim."


def test_answers_that_come_back_and_a_turned_evaluation_are_rows_known_by_heart():
    one = first(*LEARNT, TOLD)
    assert one.key == "overfits" and "line 2" in one.says and "lowest evaluation" in one.fix


@pytest.mark.parametrize(
    "lines",
    [
        [*judged([2.1, 1.9, 1.7, 1.6], [1.8, 1.7, 1.65, 1.64]), TOLD],
        [*judged([2.1, 1.6, 1.3, 1.1], [1.6, 1.5, 1.6, 1.7]), TOLD],
    ],
)
def test_words_alone_do_not_say_known_by_heart(lines):
    assert not answer(*lines).causes


@pytest.mark.parametrize(
    "told", ["It answers badly once exported.", "It is not verbatim one of our training answers."]
)
def test_numbers_alone_do_not_say_that_training_answers_come_back(told):
    [one] = answer(*LEARNT, told).causes
    assert one.key == "overfits" and "training answer" not in one.says


def scored(top: float = 9.0) -> list[str]:
    return [
        f"step:{n} - actor/entropy:{0.9 - n / 11:.3f} - actor/ppo_kl:0.0004 - "
        f"critic/score/mean:{1 + top * n / 9:.3f} - response_length/mean:{200 + 80 * n} - "
        f"response_length/clip_ratio:{0.01 + 0.009 * n * n:.3f}"
        for n in range(10)
    ]


SCORER = "reward_model.model.path=/m/rm-8b"


@pytest.mark.parametrize(
    "off",
    [["actor.use_kl_loss=False", "algorithm.use_kl_in_reward=False"], ["--init_kl_coef 0.0"]],
)
def test_length_that_a_reward_model_pays_for_without_a_kl_is_called_unheld(off):
    one = first(SCORER, *off, *scored())
    assert one.key == "length_into_limit" and "nothing holds the policy" in one.says
    assert "KL to the reference" in one.fix and "actor/ppo_kl is no such hold" in one.says


@pytest.mark.parametrize(
    "beside",
    [
        [SCORER, "actor.use_kl_loss=True", "algorithm.use_kl_in_reward=False"],
        [SCORER, "--init_kl_coef 0.02"],
        [SCORER],
        ["verifier: exact_match", "actor.use_kl_loss=False"],
    ],
)
def test_a_kl_that_is_on_or_not_spoken_of_or_a_verifier_is_not_called_unheld(beside):
    assert "nothing holds the policy" not in first(*beside, *scored()).says
