"""Clipping under FSDP, by torch's function and by that of the module."""

import pytest

from tests.helpers.explained import first

CODE = [
    "model = FullyShardedDataParallel(model, auto_wrap_policy=policy)",
    "loss.backward()",
    "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)",
]
RUN = [f"{{'loss': {2 - n / 20:.2f}, 'grad_norm': 1.1, 'epoch': 0.{n}}}" for n in range(1, 9)]


def test_torchs_own_clipping_sees_the_shards_of_one_rank():
    one = first(*CODE, *RUN)
    assert one.key == "clipped_by_shard" and "its own shards" in one.says
    said = first(*CODE, *RUN, "Why is it that the grad norms differ between the ranks?")
    assert said.weight > one.weight and "norms differ" in said.for_it[-1]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)", "model.clip_grad_norm_(1.0)"),
        ("torch.nn.utils.clip", "accelerator.clip"),
        ("FullyShardedDataParallel(model", "DistributedDataParallel(model"),
        ("policy)", "policy, sharding_strategy=ShardingStrategy.NO_SHARD)"),
        ("model = FullyShardedDataParallel(model,", "fully_shard(model,"),
    ],
)
def test_a_norm_of_the_whole_gradient_is_right(old, new):
    assert first("\n".join([*CODE, *RUN]).replace(old, new)) is None
