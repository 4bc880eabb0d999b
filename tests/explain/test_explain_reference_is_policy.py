"""A reference that is the policy, is copied at each restart, or belongs to another model."""

import pytest

from tests.helpers.explained import first

ADAPTED = "    net = get_peft_model(net, LoraConfig(r=8))"
USED = "    with torch.no_grad(): r = logps(ref, ids)"
ZEROS = ["step  reward  kl      gnorm", *(f"  {n}  0.{n + 2}1  0.0000  0.5{n}" for n in range(5))]
GROWS = [row.replace("0.0000", f"0.00{n}1") for n, row in enumerate(ZEROS)]


@pytest.mark.parametrize(
    ("code", "word"),
    [
        ("    ref = net.get_base_model()", "disable_adapter"),
        ("    ref = net.eval()", "deepcopy"),
        ("    ref_model = net", "deepcopy"),
        ("    frozen = net.requires_grad_(False).eval()", "deepcopy"),
    ],
)
def test_a_second_name_of_the_policy_is_no_reference(code, word):
    one = first(ADAPTED, code, USED, *ZEROS)
    assert one.key == "reference_moves" and word in one.fix and "KL is 0" in one.says


@pytest.mark.parametrize(
    "lines",
    [
        (ADAPTED, "    ref = net.get_base_model()", USED, *GROWS),
        (ADAPTED, "    ref = copy.deepcopy(net).eval()", USED, *ZEROS),
        (ADAPTED, "    base = net.get_base_model()", "    with net.disable_adapter():", *ZEROS),
        (ADAPTED, "    ref = load(path).eval()", USED, *ZEROS),
    ],
)
def test_a_copy_an_adapter_that_is_switched_off_or_a_kl_that_grows_is_not_accused(lines):
    one = first(*lines)
    assert one is None or one.key != "reference_moves"


def pairs(chosen: float, rejected: float) -> list[str]:
    return [
        f"step {n} loss 0.6{n} chosen_reward {chosen - n / 20} reject_reward {rejected - n / 10} "
        f"lr {n}e-8"
        for n in range(1, 6)
    ]


PATHS = ["model_name_or_path: runs/sft-3", "ref_model: hub/base-7b"]


def test_two_paths_name_two_models():
    one = first(*PATHS, *pairs(4.1, 3.2))
    assert one.key == "wrong_reference" and "hub/base-7b" in one.says and "runs/sft-3" in one.says


def test_one_path_for_both_is_not_called_two_models():
    one = first(PATHS[0], "ref_model: runs/sft-3", *pairs(4.1, 3.2))
    assert one.key == "wrong_reference" and "another model than the one" not in one.says
    assert first(*PATHS, *pairs(0.01, 0.02)) is None


KEPT = [
    "columns: prompt, ref_chosen_logps, ref_rejected_logps",
    "ref log-probs found, skip ref pass",
]


def rows(chosen: float, epoch: float = 0.0) -> list[str]:
    return [
        f"{{'loss': 0.7{n}, 'rewards/chosen': {chosen + n / 20}, 'rewards/rejected': "
        f"{chosen - 1}, 'logps/chosen': -300.1, 'epoch': {epoch + n / 10}}}"
        for n in range(4)
    ]


def test_kept_columns_beside_rewards_far_from_0_are_of_another_model():
    one = first("beta: 0.1", *KEPT, *rows(6.2))
    assert one.key == "wrong_reference" and "-362.1" in " ".join(one.for_it)


@pytest.mark.parametrize("lines", [[*KEPT, *rows(0.02)], [*KEPT, *rows(6.2, 0.8)], rows(6.2)])
def test_kept_columns_that_fit_or_late_rewards_are_not_accused(lines):
    one = first("beta: 0.1", *lines)
    assert one is None or "what was kept" not in one.says


def test_a_reference_that_is_copied_at_each_restart_is_quoted():
    part = ["[init] ref <- copied from policy, sha 1a2b"]
    kls = [f"step {n} reward 0.4 kl {0.02 * (n % 4):.4f} len 300" for n in range(12)]
    one = first(*part, *kls[:4], "restart", *part, *kls[4:8], "restart", *part, *kls[8:])
    assert one.key == "reference_moves" and "copied from policy" in " ".join(one.for_it)


DPO = [
    f"step {n} | loss 0.6931 | r_chosen 0.0000 | r_rejected 0.0000 | acc 0.000 | "
    f"logp_c {-230 - 20 * n}.5 | logp_r {-220 - 50 * n}.5 | gnorm {4.5 + n / 2:.2f}"
    for n in range(8)
]
LOADED = "ref_model = load(cfg.ref_path).to(dev) if cfg.ref_path else model"
USED = "rc, rr = concat_forward(ref_model, batch)"


def test_a_reference_that_is_the_policy_where_no_path_is_given():
    one = first("model = load(cfg.path)", LOADED, USED, *DPO)
    assert one.key == "reference_moves" and "ref_path" in one.says


@pytest.mark.parametrize(
    "code", [LOADED.replace("else model", "else load(cfg.path)"), "ref_model = load(cfg.ref_path)"]
)
def test_a_reference_that_is_loaded_is_not_called_the_policy_itself(code):
    one = first("model = load(cfg.path)", code, USED, *DPO)
    assert "is model itself" not in one.says
