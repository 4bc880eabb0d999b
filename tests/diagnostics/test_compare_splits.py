"""compare_splits names the factor and the weights, plays ranks, and leaves the run as it was."""

import pytest
import torch
from torch import nn
from transformers import Trainer

from course_utils.diagnostics import compare_splits
from course_utils.diagnostics.splits.judging import FACTOR, OTHER, RANKS, SAME, WEIGHTS
from course_utils.diagnostics.splits.ranks import believing_in
from course_utils.diagnostics.splits.stepping import cut
from course_utils.errors import BadRequest, Unsupported
from course_utils.exercises.lesson_08 import mend
from course_utils.reproductions.lesson_08 import batch_loss, batch_trainers
from course_utils.reproductions.lesson_08.batch_loss import mixed_rows

# Eight rows, one number each, and as many targets as the number says.
ROWS = [1.0, 2.0, 9.0, 4.0, 1.0, 7.0, 2.0, 30.0]


def linear_loop(part, between=lambda model: None):
    """A loop whose row i adds x_i * sum over its targets; `part` divides."""
    model = nn.Linear(1, 2, bias=False)
    nn.init.constant_(model.weight, 0.5)

    def step(micro_batches):
        whole, logged = sum(map(sum, micro_batches)), 0.0
        for micro in micro_batches:
            said = model(torch.tensor(micro)[:, None])
            total = (said[:, 0] ** 2 + (said[:, 1] - 3) ** 2).sum()
            loss = part(total, sum(micro), whole, len(micro_batches))
            loss.backward()
            between(model)
            logged += loss.item()
        return logged

    return step, model


def judged(part, **more):
    step, model = linear_loop(part, **more)
    report = compare_splits(step, ROWS, model=model)
    return report, report.compared[-1]


def test_a_sum_over_the_count_of_the_step_is_the_same_for_every_split():
    report, last = judged(lambda total, own, whole, num: total / whole)
    assert report.is_healthy and (last.kind, last.size, last.num_micro) == (SAME, 1, 8)
    assert "is the same for 3 splits" in report.headline and not report.cause


@pytest.mark.parametrize(
    ("part", "kind", "factor"),
    [
        (lambda total, own, whole, num: total / own / num, WEIGHTS, "1"),
        (lambda total, own, whole, num: total / own, WEIGHTS, "G"),
        (lambda total, own, whole, num: total / whole / num, FACTOR, "1/G"),
        (lambda total, own, whole, num: total / whole * num, FACTOR, "G"),
        (lambda total, own, whole, num: total / whole * num**0.5, FACTOR, "2.83"),
    ],
)
def test_weights_and_factor_are_told_apart(part, kind, factor):
    report, last = judged(part)
    assert (last.kind, last.factor_name) == (kind, factor)
    assert not report.is_healthy and report.cause and report.fix
    assert report.to_dict()["splits"][-1]["kind"] == kind


def test_a_clip_between_two_backward_passes_is_neither():
    report, last = judged(
        lambda total, own, whole, num: total / whole,
        between=lambda model: nn.utils.clip_grad_norm_(model.parameters(), 0.1),
    )
    assert last.kind == OTHER and "not just added" in report.cause


def test_two_terms_with_counts_of_their_own_are_offered_as_a_cause():
    def first_by_its_own(total, own, whole, num):
        return total / own / num + (total**2 / whole**2).sqrt()

    report, last = judged(first_by_its_own)
    assert last.kind == OTHER and "different counts" in report.cause and "count" in report.fix


def test_a_constant_factor_is_said_to_be_out_of_sight():
    report, _ = judged(lambda total, own, whole, num: 7 * total / whole)
    assert report.is_healthy and "cannot be seen" in report.headline


def test_what_is_drawn_at_random_is_not_compared():
    step, model = linear_loop(lambda total, *rest: total * torch.rand(()))
    report = compare_splits(step, ROWS, model=model)
    assert not report.is_healthy and "drawn at random" in report.headline


def test_rows_are_cut_in_order_and_ranks_get_equal_shares():
    assert cut([1, 2, 3, 4, 5], 2) == [[[1, 2], [3, 4], [5]]]
    assert cut([1, 2, 3, 4], 2, 2) == [[[1, 2]], [[3, 4]]]


@pytest.fixture(scope="module")
def rows():
    return mixed_rows(0, long=2, short=4)


def test_a_stock_trainer_is_the_same_for_every_split_and_number_of_ranks(rows):
    report = compare_splits(batch_loss.trainer(Trainer, rows), rows, num_ranks=(1, 2, 3))
    assert report.is_healthy and {one.num_ranks for one in report.compared} == {1, 2, 3}
    assert report.worst.distance < 5e-6


def test_a_trainer_that_forgets_the_ranks_is_named_so(rows):
    report = compare_splits(batch_loss.trainer(batch_trainers.RanksForgotten, rows), rows)
    assert {one.kind for one in report.compared if one.num_ranks == 1} == {SAME}
    assert report.worst.factor_name == "1/ranks" and "num_processes" in report.fix


class DividedBySettings(batch_trainers.OwnLoss):
    """A sum over the whole count, and once more over what the arguments say of a step."""

    def loss(self, losses, count, model, labels):
        return losses.sum() / count / self.args.gradient_accumulation_steps


def test_a_division_by_the_arguments_own_number_of_micro_batches_is_seen(rows):
    trainer = batch_loss.trainer(DividedBySettings, rows)
    report = compare_splits(trainer, rows, num_ranks=(1,))
    assert (report.worst.kind, report.worst.factor_name) == (FACTOR, "1/G")
    assert trainer.args.gradient_accumulation_steps == 1


MULTIPLIES = batch_trainers.with_loss(mend.mended)  # by the number of ranks, always


@pytest.mark.parametrize(("cls", "factor"), [(Trainer, "1"), (MULTIPLIES, "ranks")])
def test_a_count_that_is_not_gathered_is_a_mean_of_means_over_ranks(rows, cls, factor):
    alone = batch_loss.trainer(cls, rows, average_tokens_across_devices=False)
    report = compare_splits(alone, rows)
    sick = [one for one in report.compared if one.kind != SAME]
    assert {(one.num_ranks, one.kind, one.factor_name) for one in sick} == {(2, RANKS, factor)}
    assert "average_tokens_across_devices is False" in report.cause and "= True" in report.fix
    assert ("multiplied by the number of ranks" in report.cause) is (factor == "ranks")
    gathered = batch_loss.trainer(cls, rows, average_tokens_across_devices=True)
    assert compare_splits(gathered, rows).is_healthy


def test_a_mean_of_each_micro_batch_is_not_laid_to_the_ranks(rows):
    report = compare_splits(batch_loss.trainer(batch_trainers.Mean, rows), rows, num_ranks=(2,))
    assert report.compared[-1].kind == WEIGHTS and "each micro-batch" in report.cause


def test_the_run_is_left_as_it_was(rows):
    trainer = batch_loss.trainer(batch_trainers.Mean, rows)
    model = trainer.model
    model.config.attention_dropout = 0.0
    weight = next(model.parameters())
    weight.grad = torch.ones_like(weight)
    model.eval()
    before = {name: value.clone() for name, value in model.state_dict().items()}
    state, settings = torch.get_rng_state(), set(vars(trainer))
    compare_splits(trainer, rows)
    assert not model.training and bool((weight.grad == 1).all())
    assert all(value.equal(before[name]) for name, value in model.state_dict().items())
    assert torch.get_rng_state().equal(state) and trainer.state.global_step == 0
    assert set(vars(trainer)) == settings
    assert trainer.args.world_size == 1 and trainer.accelerator.num_processes == 1


def test_dropout_makes_no_difference(rows):
    trainer = batch_loss.trainer(Trainer, rows)
    for layer in trainer.model.model.layers:
        layer.self_attn.attention_dropout = 0.3
    assert compare_splits(trainer, rows).is_healthy
    assert trainer.model.model.layers[0].self_attn.attention_dropout == 0.3


def test_a_trainers_own_rows_are_taken_from_the_shortest_to_the_longest():
    report = compare_splits(batch_loss.trainer(batch_trainers.Mean))
    assert report.num_rows == 8
    assert report.targets[0] == 3 and report.targets[-1] > 60
    assert list(report.targets) == sorted(report.targets)


def test_several_processes_are_believed_in_only_inside_the_block(rows):
    trainer = batch_loss.trainer(Trainer, rows)
    with pytest.raises(ZeroDivisionError), believing_in(3):
        assert trainer.args.world_size == trainer.accelerator.num_processes == 3
        raise ZeroDivisionError
    assert trainer.args.world_size == trainer.accelerator.num_processes == 1


class Generates:
    """As GRPOTrainer does."""

    training_step = _buffered_inputs = None


@pytest.mark.parametrize(
    ("of", "rows", "model", "error", "word"),
    [
        (Generates(), None, None, Unsupported, "makes its rows itself"),
        (print, ROWS, None, BadRequest, "model="),
        (print, None, nn.Linear(1, 1), BadRequest, "rows="),
        (print, [1.0], nn.Linear(1, 1), BadRequest, "even number"),
    ],
)
def test_what_cannot_be_compared_is_said(of, rows, model, error, word):
    with pytest.raises(error, match=word):
        compare_splits(of, rows, model=model)
