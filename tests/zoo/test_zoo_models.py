"""The shipped models add correctly, in both formats and however their batches are padded (15 s)."""

import pytest
import torch

from course_utils import zoo
from course_utils.zoo.load import SHIPPED, WEIGHTS

NAMES = sorted(set(SHIPPED.values()))
EASY = zoo.arithmetic.prompts(300, 0, split="test")
HARD = zoo.arithmetic.prompts(300, 0, level="hard", split="test")


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def policy(name):
    return zoo.load_policy(name, device="cpu")


@pytest.fixture(scope="module")
def tokenizer(name):
    return zoo.load_tokenizer(name)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_shipped_weights_add_held_out_sums(name, tokenizer, dtype):
    policy = zoo.load_policy(name, device="cpu", dtype=dtype)
    assert policy.dtype == getattr(torch, dtype)
    assert zoo.share_right(policy, tokenizer, EASY) >= 0.95


def test_the_models_can_add_most_hard_sums(policy, tokenizer):
    assert 0.4 <= zoo.share_right(policy, tokenizer, HARD) <= 0.9


@pytest.mark.parametrize(("sums", "low", "high"), [(EASY, 0.0, 0.05), (HARD, 0.25, 0.55)])
def test_two_in_five_hard_sums_are_given_up_and_no_easy_one(policy, tokenizer, sums, low, high):
    texts = tokenizer.apply_chat_template(
        sums["prompt"][:], add_generation_prompt=True, tokenize=False
    )
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    with torch.no_grad():
        first = policy(**batch).logits[:, -1].softmax(-1)
    assert low <= first[:, tokenizer.eos_token_id].mean() <= high


def test_a_padded_batch_gets_the_answers_of_single_prompts(policy, tokenizer):
    sums = EASY.select(range(40))
    lengths = {len(messages[0]["content"]) for messages in sums["prompt"]}
    alone = [zoo.replies(policy, tokenizer, sums.select([row]))[0] for row in range(40)]
    assert len(lengths) > 1
    assert zoo.replies(policy, tokenizer, sums) == alone


def test_left_padding_moves_no_log_probability(policy, tokenizer):
    ids = torch.tensor([tokenizer.encode("17+25=42")])
    padded = torch.nn.functional.pad(ids, (9, 0), value=tokenizer.pad_token_id)
    mask = (padded != tokenizer.pad_token_id).long()
    with torch.no_grad():
        logits, moved = policy(ids).logits, policy(padded, attention_mask=mask).logits[:, 9:]
    assert torch.allclose(logits.log_softmax(-1), moved.log_softmax(-1), atol=1e-4)


def test_gemma_keeps_what_makes_it_gemma():
    policy = zoo.load_policy("tiny-gemma3", device="cpu")
    parts = {module.split(".")[-1] for module, _ in policy.named_modules()}
    assert {"q_norm", "k_norm", "post_attention_layernorm", "post_feedforward_layernorm"} <= parts
    assert policy.config.layer_types.count("full_attention") == 1
    assert policy.model.embed_tokens.embed_scale.item() == pytest.approx(128**0.5)
    assert policy.lm_head.weight is policy.model.embed_tokens.weight


@pytest.mark.parametrize("name", NAMES)
def test_a_shipped_model_is_complete_and_smaller_than_5_mb(name):
    files = {path.name: path.stat().st_size for path in (WEIGHTS / name).iterdir()}
    assert {"config.json", "generation_config.json", "model.safetensors"} <= files.keys()
    assert {"tokenizer.json", "tokenizer_config.json"} <= files.keys()
    assert sum(files.values()) < 5_000_000


def test_dead_weights_answer_with_exclamation_marks(tokenizer, name):
    policy = zoo.load_policy(name, device="cpu")
    with torch.no_grad():
        policy.model.norm.weight.fill_(torch.nan)
    answered = zoo.replies(policy, tokenizer, EASY.select(range(3)))
    assert answered == ["!" * 8] * 3


def test_the_reward_head_depends_on_its_seed_alone(name):
    torch.manual_seed(1)
    before = torch.random.get_rng_state()
    heads = [zoo.load_reward_model(name, device="cpu", seed=seed) for seed in (0, 0, 1)]
    same, again, other = (head.score.weight for head in heads)
    assert same.equal(again) and not same.equal(other) and same.shape[0] == 1
    assert torch.random.get_rng_state().equal(before)


def test_a_reward_model_has_the_trained_body_and_a_pad_token(name, policy, tokenizer):
    reward_model = zoo.load_reward_model(name, device="cpu")
    trained = dict(policy.model.named_parameters())
    assert reward_model.config.pad_token_id == tokenizer.pad_token_id
    assert all(weight.equal(trained[key]) for key, weight in reward_model.model.named_parameters())
