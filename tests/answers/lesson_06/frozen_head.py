"""Right and wrong answers of exercise 06.5."""

import copy

import torch
from torch.nn.functional import cross_entropy

from course_utils.checks import checking
from course_utils.exercises.lesson_06 import frozen_head
from course_utils.exercises.lesson_06.frozen_head import head_loss_with_frozen_body
from tests.answers import answers_of

right, wrong = answers_of(frozen_head.HEAD)


@right
def head_loss_by_thawing(model, x, y):
    model.requires_grad_(False)
    model.head.requires_grad_(True)
    return cross_entropy(model(x), y)


@right
def head_loss_by_detaching(model, x, y):
    return cross_entropy(model.head(model.body(x).detach()), y)


@wrong(caught_by=frozen_head.runs_backward)
def head_loss_as_it_was(model, x, y):
    model.requires_grad_(False)
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.head_gets_its_gradient)
def head_loss_marked(model, x, y):
    return head_loss_as_it_was(model, x, y).requires_grad_()


@wrong(caught_by=checking.leaves_its_inputs_alone)
def head_loss_with_marked_features(model, x, y):
    model.requires_grad_(False)
    return cross_entropy(model(x.requires_grad_()), y)


@wrong(caught_by=frozen_head.body_gets_none)
def head_loss_with_nothing_frozen(model, x, y):
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.head_gets_its_gradient)
def head_loss_with_frozen_head(model, x, y):
    model.head.requires_grad_(False)
    return cross_entropy(model(x), y)


@right
def head_loss_without_recording_the_body(model, x, y):
    with torch.no_grad():
        features = model.body(x)
    return cross_entropy(model.head(features), y)


@wrong(caught_by=frozen_head.body_gets_none)
def head_loss_by_freezing_the_first_layer(model, x, y):
    model.body[0].requires_grad_(False)
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.is_the_cross_entropy)
def head_loss_as_a_sum(model, x, y):
    model.body.requires_grad_(False)
    return cross_entropy(model(x), y, reduction="sum")


@wrong(caught_by=frozen_head.returns_a_loss)
def head_loss_as_a_number(model, x, y):
    return head_loss_with_frozen_body(model, x, y).item()


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_and_evaluates(model, x, y):
    model.eval()
    return head_loss_with_frozen_body(model, x, y)


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_and_evaluates_the_body(model, x, y):
    model.body.eval()
    return head_loss_with_frozen_body(model, x, y)


@wrong(caught_by=frozen_head.body_gets_none)
def head_loss_by_freezing_two_levels(model, x, y):
    for part in model.body.children():
        for weight in part.parameters(recurse=False):
            weight.requires_grad_(False)
        for inner in part.children():
            for weight in inner.parameters(recurse=False):
                weight.requires_grad_(False)
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_with_zeroed_gradients(model, x, y):
    for weight in model.body.parameters():
        weight.register_hook(torch.zeros_like)
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_of_another_head(model, x, y):
    model.body.requires_grad_(False)
    model.head = copy.deepcopy(model.head)
    return cross_entropy(model(x), y)


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_after_zero_grad(model, x, y):
    model.zero_grad()
    return head_loss_with_frozen_body(model, x, y)


@wrong(caught_by=frozen_head.only_freezes)
def head_loss_and_backward(model, x, y):
    loss = head_loss_with_frozen_body(model, x, y)
    loss.backward(retain_graph=True)
    return loss


@wrong(caught_by=frozen_head.head_gets_its_gradient)
def head_loss_with_weight_only(model, x, y):
    model.requires_grad_(False)
    model.head.weight.requires_grad_(True)
    return cross_entropy(model(x), y)
