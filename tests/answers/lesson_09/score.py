"""Right and wrong answers of exercise 09.1."""

import torch

from course_utils.exercises.lesson_09 import score
from course_utils.exercises.lesson_09.score import _kept, _pick, by_scatter
from tests.answers import answers_of

right, wrong = answers_of(score.SCORE)


@right
def by_threshold(logits, ids, temperature, top_p):
    logp = (logits / temperature).log_softmax(-1)
    probs = logp.detach().exp()
    ordered = probs.sort(-1, descending=True).values
    num = (ordered.cumsum(-1) - ordered < top_p).sum(-1, keepdim=True)
    least = ordered.gather(-1, num - 1)
    own = _pick(probs, ids)[..., None]
    kept = (probs >= least) | (probs == own)
    mass = torch.where(kept, logp.exp(), torch.zeros_like(probs)).sum(-1)
    return _pick(logp, ids) - mass.log()


@right
def by_rank(logits, ids, temperature, top_p):
    scaled = logits.div(temperature)
    probs = scaled.detach().softmax(-1)
    likelier = probs[..., None, :] > probs[..., :, None]
    before = (likelier * probs[..., None, :]).sum(-1)
    kept = (before < top_p) | torch.nn.functional.one_hot(ids, logits.shape[-1]).bool()
    return _pick(scaled, ids) - torch.where(kept, scaled, -torch.inf).logsumexp(-1)


@right
def in_float32(logits, ids, temperature, top_p):
    return by_scatter(torch.as_tensor(logits).float(), ids, temperature, top_p)


@right
def with_an_exact_tie_kept(logits, ids, temperature, top_p):
    """As SGLang cuts: a token stays where the mass before it is exactly top_p, too."""
    scaled = logits / temperature
    ordered, order = scaled.detach().softmax(-1).sort(-1, descending=True)
    inside = ordered.cumsum(-1) - ordered <= top_p
    kept = torch.zeros_like(scaled, dtype=torch.bool).scatter(-1, order, inside)
    kept = kept.scatter(-1, ids[..., None], True)
    return _pick(scaled.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.has_the_temperature)
def counts_itself(logits, ids, temperature, top_p):
    scaled = logits / temperature
    ordered, order = scaled.detach().softmax(-1).sort(-1, descending=True)
    inside = ordered.cumsum(-1) < top_p
    kept = torch.zeros_like(scaled, dtype=torch.bool).scatter(-1, order, inside)
    kept = kept.scatter(-1, ids[..., None], True)
    return _pick(scaled.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.gives_one_number_a_token)
def a_list(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, top_p).tolist()


@wrong(caught_by=score.gives_one_number_a_token)
def keeps_the_last_axis(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, top_p)[..., None]


@wrong(caught_by=score.gives_one_number_a_token)
def summed(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, top_p).sum(-1)


@wrong(caught_by=score.has_the_temperature)
def logp_divided(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, 1.0, top_p) / temperature


@wrong(caught_by=score.has_the_temperature)
def divided_twice(logits, ids, temperature, top_p):
    return by_scatter(logits / temperature, ids, temperature, top_p)


@wrong(caught_by=score.has_the_temperature)
def multiplied(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, 1 / temperature, top_p)


@wrong(caught_by=score.has_the_temperature)
def shifted(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, top_p).roll(1)


@wrong(caught_by=score.has_the_temperature)
def probabilities(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, top_p).exp()


@wrong(caught_by=score.has_the_support)
def without_top_p(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, 1.0)


@wrong(caught_by=score.has_the_support)
def minus_log_p(logits, ids, temperature, top_p):
    return by_scatter(logits, ids, temperature, 1.0) - torch.tensor(top_p).log()


@wrong(caught_by=score.has_the_support)
def nucleus_first(logits, ids, temperature, top_p):
    kept = _kept(logits, top_p).scatter(-1, ids[..., None], True)
    scaled = logits / temperature
    return _pick(scaled.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.has_the_support)
def without_the_crossing(logits, ids, temperature, top_p):
    scaled = logits / temperature
    ordered, order = scaled.detach().softmax(-1).sort(-1, descending=True)
    inside = (ordered.cumsum(-1) < top_p) | (top_p == 1.0)
    kept = torch.zeros_like(scaled, dtype=torch.bool).scatter(-1, order, inside)
    kept = kept.scatter(-1, ids[..., None], True)
    return _pick(scaled.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.has_the_support)
def one_mask_for_all(logits, ids, temperature, top_p):
    scaled = logits / temperature
    flat = scaled.reshape(-1, logits.shape[-1])
    kept = _kept(flat[:1], top_p).expand_as(flat).reshape(logits.shape)
    kept = kept.scatter(-1, ids[..., None], True)
    return _pick(scaled.masked_fill(~kept, -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.keeps_what_was_sampled)
def lost_is_minus_inf(logits, ids, temperature, top_p):
    scaled = logits / temperature
    return _pick(scaled.masked_fill(~_kept(scaled, top_p), -torch.inf).log_softmax(-1), ids)


@wrong(caught_by=score.keeps_what_was_sampled)
def lost_is_zero(logits, ids, temperature, top_p):
    return lost_is_minus_inf(logits, ids, temperature, top_p).nan_to_num(neginf=0.0)


@wrong(caught_by=score.can_be_trained)
def detached(logits, ids, temperature, top_p):
    return by_scatter(logits.detach(), ids, temperature, top_p)


@wrong(caught_by=score.can_be_trained)
def straight_through(logits, ids, temperature, top_p):
    value = by_scatter(logits.detach(), ids, temperature, top_p)
    plain = by_scatter(logits, ids, 1.0, 1.0)
    return value + plain - plain.detach()


@wrong(caught_by=score.keeps_what_was_sampled)
def by_probabilities(logits, ids, temperature, top_p):
    """Right until a probability is too small for its format."""
    scaled = logits / temperature
    kept = _kept(scaled, top_p).scatter(-1, ids[..., None], True)
    probs = scaled.softmax(-1) * kept
    return _pick(probs / probs.sum(-1, keepdim=True), ids).log()
