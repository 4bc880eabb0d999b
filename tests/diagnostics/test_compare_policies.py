"""compare_policies names what differs, leaves healthy pairs alone, and says what it cannot tell."""

import pytest
import torch
from transformers import GPT2Config, GPT2LMHeadModel
from whole import cases

from course_utils import zoo
from course_utils.diagnostics import compare_policies
from course_utils.diagnostics.policies.decoding import Decoding, in_support, logps_of, warp
from course_utils.diagnostics.policies.scoring import tokens_of
from course_utils.errors import BadRequest
from course_utils.reproductions.lesson_09 import policy_pairs
from course_utils.reproductions.lesson_09.policy_pairs_found import (
    DUE,
    NUM_SEEDS,
    find,
    found,
    table,
)

NOT_RECORDED = 101  # a seed that the recorded table has not


def test_the_table_of_causes_and_seeds(capsys):
    with capsys.disabled():
        print(f"\n{table()}")
    assert {len(by_seed) for by_seed in found().values()} == {NUM_SEEDS}
    assert set(found()) == set(DUE) == set(policy_pairs.CAUSES)


def test_of_twenty_seeds_nearly_all_are_told_apart_and_no_healthy_pair_is_accused():
    for cause, by_seed in found().items():
        right = sum(names == DUE[cause] for names in by_seed)
        assert right >= (NUM_SEEDS if cause.startswith("healthy") else 18), (cause, by_seed)


@pytest.mark.parametrize("cause", cases(DUE, DUE.get))
def test_it_names_the_cause_of_a_pair_that_was_not_recorded(cause):
    assert find(cause, NOT_RECORDED) == DUE[cause]


def test_it_names_settings_that_are_on_no_grid():
    pair = policy_pairs.pair("temperature and top_p", 3)
    due, got = pair.sampler.decoding, pair.compare().sides[0].decoding
    assert got.temperature == pytest.approx(due.temperature, rel=1e-3)
    assert got.top_p == pytest.approx(due.top_p, abs=0.05)


def test_it_changes_neither_weights_nor_mode_of_the_model():
    pair = policy_pairs.pair("mask forgotten", 0)
    pair.model.train()
    before = {name: value.clone() for name, value in pair.model.state_dict().items()}
    pair.compare()
    assert pair.model.training
    assert all(torch.equal(v, before[n]) for n, v in pair.model.state_dict().items())


def test_a_side_with_one_log_prob_too_many_is_named_before_anything_is_compared():
    pair = policy_pairs.pair("healthy", 0)

    def one_longer(prompts, replies):
        ids, logps = pair.trainer(prompts, replies)
        return ids, [logps[0] + [0.0], *logps[1:]]

    found = compare_policies(pair.sampler, one_longer, pair.prompts, model=pair.model)
    assert found.causes == ("lengths",) and "Reply 0" in found.headline


def test_too_few_tokens_are_refused():
    pair = policy_pairs.pair("healthy", 0)
    with pytest.raises(BadRequest, match="tokens"):
        compare_policies(pair.sampler, pair.trainer, pair.prompts[:5], model=pair.model)


def test_learned_positions_are_compared_too():
    torch.manual_seed(0)
    shape = dict(vocab_size=320, n_layer=2, n_head=2, n_embd=64, pad_token_id=317)
    model = GPT2LMHeadModel(GPT2Config(**shape, bos_token_id=0, eos_token_id=0)).eval()
    scorer = policy_pairs.Scorer(model)
    prompts = policy_pairs.prompts_of(0)
    replies = [[20, 21, 22] for _ in prompts]
    sampler = lambda asked: (replies, scorer(asked, replies)[1])  # noqa: E731
    healthy = compare_policies(sampler, scorer, prompts, model=model)
    jumps = policy_pairs.Scorer(model, fault="positions", gap=4)
    assert healthy.causes == ()
    assert compare_policies(sampler, jumps, prompts, model=model).causes == ("positions",)


@pytest.mark.parametrize(
    "decoding",
    [
        Decoding(temperature=0.7),
        Decoding(top_k=4),
        Decoding(top_p=0.8),
        Decoding(min_p=0.1),
        Decoding(repetition_penalty=1.3),
        Decoding(temperature=1.4, top_k=30, top_p=0.7),
    ],
    ids=str,
)
def test_settings_change_logits_as_those_of_transformers_do(decoding):
    from transformers import GenerationConfig

    model = zoo.load_policy("tiny", device="cpu").eval()
    prompts = policy_pairs.prompts_of(1, 8)
    config = GenerationConfig(do_sample=True, **{"top_k": 0} | vars(decoding))
    width = max(map(len, prompts))
    ids = torch.tensor([p for p in prompts if len(p) == width])
    processors = model._get_logits_processor(
        generation_config=config, input_ids_seq_length=width, device="cpu"
    )
    tokens = tokens_of(model, ids.tolist(), [[0]] * len(ids))
    theirs = processors(ids, tokens.logits_NV.clone())
    ours = warp(tokens.logits_NV, tokens.seen_NV, decoding)
    torch.testing.assert_close(ours, theirs)


def test_one_token_is_always_kept_and_its_log_prob_is_0():
    logits_NV = torch.randn(5, 9, generator=torch.Generator().manual_seed(0))
    narrow = Decoding(top_p=1e-6)
    assert in_support(logits_NV, narrow).sum(-1).tolist() == [1] * 5
    best_N = logits_NV.argmax(-1)
    assert logps_of(warp(logits_NV, logits_NV > 99, narrow), best_N).abs().max() == 0
