"""Detects an answer that changes a gradient on its way, instead of the formula it comes from."""

from collections.abc import Callable

from course_utils.checks.calls import uses


def hangs_a_hook(function: Callable, args: tuple) -> str | None:
    """A sentence when `function(*args)` puts a hook on a tensor, its first argument with a graph.

    Only `Tensor.register_hook` is noticed; a custom backward is a formula of its own.
    """
    leaf = args[0].detach().clone().requires_grad_()
    if not uses(function, leaf, *args[1:], banned=("register_hook",)):
        return None
    return "it calls register_hook: the nan is made as before and hidden on its way"
