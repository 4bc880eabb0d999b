"""Right and wrong answers of exercise 06.8."""

import torch
from torch.nn.functional import cross_entropy, one_hot

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import smooth_loss
from course_utils.exercises.lesson_06.smooth_loss import STEP
from tests.answers import answers_of

right, wrong = answers_of(smooth_loss.SMOOTH)


@right
def error_loss_as_expected_error(model, x, y):
    return (1 - model(x).softmax(-1).gather(-1, y[:, None])).mean()


@right
def error_loss_as_squares(model, x, y):
    return (model(x).softmax(-1) - one_hot(y, 3)).square().sum(-1).mean()


@wrong(caught_by=smooth_loss.runs_backward)
def error_loss_as_it_was(model, x, y):
    return (model(x).argmax(-1) != y).float().mean()


@wrong(caught_by=smooth_loss.runs_backward)
def error_loss_by_rounding_in_numpy(model, x, y):
    probabilities = model(x).softmax(-1).detach().numpy()
    return torch.tensor(1 - probabilities[range(len(y)), y].mean())


@wrong(caught_by=smooth_loss.all_weights_are_reached)
def error_loss_marked(model, x, y):
    return error_loss_as_it_was(model, x, y).requires_grad_()


@wrong(caught_by=smooth_loss.all_weights_are_reached)
def error_loss_with_marked_tokens(model, x, y):
    tokens = model(x).argmax(-1).float().requires_grad_()
    return (tokens - y).square().mean()


@wrong(caught_by=smooth_loss.all_weights_are_reached)
def error_loss_of_the_head_only(model, x, y):
    return cross_entropy(model.head(model.body(x).detach()), y)


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_upside_down(model, x, y):
    return model(x).softmax(-1).gather(-1, y[:, None]).mean()


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_of_one_class(model, x, y):
    return model(x)[:, 0].mean()


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_of_the_largest(model, x, y):
    return model(x).softmax(-1).max(-1).values.mean()


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_without_minus(model, x, y):
    return model(x).log_softmax(-1).gather(-1, y[:, None]).mean()


@right
def error_loss_as_a_hinge(model, x, y):
    return torch.nn.functional.multi_margin_loss(model(x), y)


@right
def error_loss_smoothed(model, x, y):
    return cross_entropy(model(x), y, label_smoothing=0.1)


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_rounded(model, x, y):
    right = model(x).softmax(-1).gather(-1, y[:, None])
    return (1 - right.round()).mean()


@wrong(caught_by=smooth_loss.returns_a_loss)
def error_loss_as_a_number(model, x, y):
    return cross_entropy(model(x), y).item()


@wrong(caught_by=smooth_loss.returns_a_loss)
def error_loss_per_example(model, x, y):
    return cross_entropy(model(x), y, reduction="none")


@wrong(caught_by=smooth_loss.step_makes_right_answers_likelier)
def error_loss_of_the_shown_classes(model, x, y):
    shown = torch.arange(len(y)) % 3
    return cross_entropy(model(x), shown)


@wrong(caught_by=checking.leaves_its_inputs_alone)
def error_loss_with_frozen_body(model, x, y):
    model.body.requires_grad_(False)
    return cross_entropy(model(x), y)


@right
def error_loss_a_billion_times(model, x, y):
    return 1e9 * cross_entropy(model(x), y)


@right
def error_loss_a_billionth(model, x, y):
    return 1e-9 * cross_entropy(model(x), y)


@wrong(caught_by=smooth_loss.every_example_counts)
def error_loss_of_the_first(model, x, y):
    return cross_entropy(model(x[:1]), y[:1])


@wrong(caught_by=smooth_loss.every_example_counts)
def error_loss_of_the_first_three(model, x, y):
    return cross_entropy(model(x[:3]), y[:3])


@wrong(caught_by=smooth_loss.every_example_counts)
def error_loss_of_every_second(model, x, y):
    return cross_entropy(model(x[::2]), y[::2])


@wrong(caught_by=checking.leaves_its_inputs_alone)
def error_loss_and_steps(model, x, y):
    loss = cross_entropy(model(x), y)
    loss.backward(retain_graph=True)
    torch.optim.SGD(model.parameters(), lr=STEP).step()
    return loss


@wrong(caught_by=smooth_loss.certainty_gains_nothing)
def error_loss_of_the_logits(model, x, y):
    return -model(x)[range(len(y)), y].mean()


@wrong(caught_by=smooth_loss.certainty_gains_nothing)
def error_loss_of_the_logits_against_the_mean(model, x, y):
    logits = model(x)
    return (logits.mean(-1) - logits.gather(-1, y[:, None])[:, 0]).mean()
