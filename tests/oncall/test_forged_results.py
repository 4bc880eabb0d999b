"""What is judged comes out of the training: forged results are not healthy, in any template.

No forgery is trained: each is the base itself, exported with one thing changed.
"""

from functools import cache

import pytest
from attacks import results
from whole import IS_WHOLE
from whole import cases as some

from benchmarks.oncall import mends
from course_utils.oncall import cases, descent, folder, spread, templates
from course_utils.oncall.judging import judged
from course_utils.oncall.measuring import served, sums
from course_utils.oncall.proving import Judge
from course_utils.oncall.result import NothingMade, Result
from course_utils.oncall.training import Trained, Trainers

NAMES = templates.names()
WRITING = [name for name in NAMES if name not in results.HEADS]
LEAST_FORGERIES = 20


def is_of(mend, template):
    return cases.load(mend.case).template == template and mend.files() is not None


def pairs(of):
    return some([(name, change) for name in NAMES for change in of(name)], kind=lambda one: one[1])


def ids(value):
    return getattr(value, "__name__", value)


@cache
def untrained(name):
    return results.untrained(templates.load(name))


def verdict(export):
    """What the judge says of it, beside counts as honest as can be."""
    kept = spread.load(export.template)
    made = Trained(0, steps=kept.steps, tokens=kept.tokens, files=export.run_files())
    return judged(export.template, kept, made, export.base)


@pytest.mark.parametrize(("name", "forged"), pairs(results.forgeries), ids=ids)
def test_what_no_training_made_is_not_healthy(name, forged):
    assert not verdict(forged(untrained(name))).is_healthy


@pytest.mark.parametrize("name", NAMES)
def test_every_template_has_twenty_forgeries(name):
    assert len(set(results.forgeries(name))) >= LEAST_FORGERIES


@pytest.mark.parametrize("name", some(WRITING))
@pytest.mark.parametrize("forged", results.IN_TEMPLATES + results.IN_TOKENIZERS, ids=ids)
def test_a_forged_template_or_tokenizer_beside_trained_weights_is_not_measured(name, forged):
    export = forged(results.trained(untrained(name)))
    with pytest.raises(NothingMade):
        served(export.result, sums(8, level="easy"), most=3)


@pytest.mark.parametrize(("name", "honest"), pairs(lambda _: results.HONEST), ids=ids)
def test_what_training_may_make_descends_from_the_base(name, honest):
    descent.check(name, honest(untrained(name)).result)


@pytest.mark.parametrize("honest", results.HONEST + results.HONEST_TEMPLATES, ids=ids)
def test_what_training_may_make_is_measured(honest):
    export = honest(untrained("rl_loop"))
    assert set(served(export.result, sums(8, level="easy"), most=3)) == {"right", "halts"}


@pytest.mark.parametrize("name", NAMES if IS_WHOLE else NAMES[:1])
def test_what_was_trained_from_another_base_is_told_by_its_noise(name):
    other = results.untrained(templates.load(name), results.OTHER_SEED)
    with pytest.raises(NothingMade, match=r"nothing left of base|do not descend from base"):
        descent.check(name, results.trained(results.of_another_seed(untrained(name))).result)
    descent.check(name, results.trained(other).result)


def test_a_move_in_the_same_direction_is_told_from_another():
    export = untrained("rl_loop")
    healthy = results.trained(export).result
    descent.check_way(results.HONEST[2](export).result, healthy)
    with pytest.raises(NothingMade, match="have not moved as training on these data"):
        descent.check_way(results.with_noise_alone(export).result, healthy)
    with pytest.raises(NothingMade, match="no matrix in common"):
        descent.check_way(export.result, healthy)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", some(NAMES))
def test_what_only_seems_trained_is_told_by_the_direction_of_its_moves(name):
    """Held against the healthy run of a ticket, which a fix by another author passes."""
    mend = next(mend for mend in mends.kept()[1] if mend.is_right and is_of(mend, name))
    healthy, _ = folder.handed_out(mend.ticket)
    case, seed, mended = cases.load(mend.case), results.SEED, mend.files()
    with Trainers() as trainers:
        judge = Judge(trainers)
        assert judge.strays(case, mended, seed=seed, healthy=healthy) == ""
        export = results.seeming_trained(name)(untrained(name))
        made = trainers.train(healthy, export.base, seed=seed)
    with pytest.raises(NothingMade, match=r"have not moved as training|nothing left of base"):
        descent.check_way(export.result, Result(made.files, export.base))
