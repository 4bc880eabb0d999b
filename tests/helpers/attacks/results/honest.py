"""Honest results: training may leave these, and none is refused, whatever it measures."""

from attacks.results.export import END, PAD, PLAIN, Export, trained
from attacks.results.texts import with_template


def with_another_template(export: Export) -> Export:
    """Another frame around the question."""
    return with_template(trained(export), f"Q: {PLAIN}\nA:")


def stripping_spaces(export: Export) -> Export:
    """A template that strips spaces."""
    return with_template(trained(export), "{{ messages[0]['content'] | trim }}")


def moved_far(export: Export) -> Export:
    """Weights that have moved as far as an adapter at a high rate moves them."""
    return trained(export, by=0.6)


def in_half_precision(export: Export) -> Export:
    """Weights in bfloat16, as many a server wants them."""
    return trained(export).each(lambda _, weight: weight.bfloat16())


def with_other_ends(export: Export) -> Export:
    """Two ends, and settings of sampling."""
    settings = {"eos_token_id": [END, PAD], "temperature": 0.7, "do_sample": True}
    return trained(export).with_files(generation_config__json=settings)


HONEST = (trained, moved_far, in_half_precision, with_other_ends)
HONEST_TEMPLATES = (with_another_template, stripping_spaces)
