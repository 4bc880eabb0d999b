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
from course_utils.oncall.judging import judged, strays
from course_utils.oncall.measuring import served, sums
from course_utils.oncall.mechanism import LOOK_AT
from course_utils.oncall.proving import Judge
from course_utils.oncall.result import NothingMade, Result
from course_utils.oncall.training import Trained, Trainers

NAMES = templates.names()
WRITING = [name for name in NAMES if name not in results.HEADS]
LEAST_FORGERIES = 20


def template_of(name):
    return cases.load(name).template


def is_of(mend, template):
    return template_of(mend.case) == template and mend.files() is not None


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
    paid = [{"replies": ["7"], "paid": 1.0}] if LOOK_AT.get(export.template.name) == "paid" else []
    files = export.run_files()
    made = Trained(0, steps=kept.steps, tokens=kept.tokens, files=files, seen=paid)
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


def with_table_moved(export):
    return export.each(lambda name, w: w + 1e-4 * (name == results.OWN_TABLE))


def test_a_move_as_the_healthy_one_has_gone_its_way_and_another_has_not():
    base = untrained("rl_loop")
    healthy = with_table_moved(results.trained(base)).result
    descent.check_way(results.in_half_precision(base).result, healthy)
    for other in (base, results.with_noise_alone(base)):
        with pytest.raises(NothingMade, match=r"have (not )?moved"):
            descent.check_way(other.result, healthy)


@pytest.mark.parametrize("by", [0.01, 20.0])
def test_a_move_of_another_size_is_told(by):
    base = untrained("rl_loop")
    healthy = results.trained(base)
    scaled = base.each(lambda name, w: w + by * (healthy.weights[name] - w))
    with pytest.raises(NothingMade, match=r"times as far as a healthy run moves them|nothing left"):
        descent.check_way(scaled.result, healthy.result)


def test_a_table_written_by_hand_beside_such_moves_is_told():
    healthy = with_table_moved(results.trained(untrained("rl_loop")))
    with pytest.raises(NothingMade, match=r"embed_tokens\.weight of run/model has moved"):
        descent.check_way(results.with_end_by_hand(healthy).result, healthy.result)


def test_a_result_of_which_the_small_tensors_have_not_moved_is_told():
    base = untrained("rl_loop")
    healthy = results.trained(base).each(lambda _, w: w * 1.001)
    matrices = base.each(lambda name, w: healthy.weights[name] if "_proj.weight" in name else w)
    with pytest.raises(NothingMade, match="28 of 50 tensors of run/model that training moves"):
        descent.check_way(matrices.result, healthy.result)


def test_a_matrix_that_has_moved_much_further_than_the_others_is_told():
    base, name = untrained("rl_loop"), "model.layers.3.mlp.down_proj.weight"
    healthy = results.trained(base)
    move = healthy.weights[name] - base.weights[name]
    edited = healthy.each(lambda at, w: w + 20 * move if at == name else w)
    with pytest.raises(NothingMade, match=r"down_proj\.weight of run/model has moved 21 times"):
        descent.check_way(edited.result, healthy.result)


def test_results_that_rest_on_a_head_alone_are_told(monkeypatch):
    """A head that is solved for upon small moves is as good without them."""
    template = templates.load("reward_pairs")
    kept, export = spread.load(template), untrained("reward_pairs")
    made = results.seeming_trained("reward_pairs")(export).result
    with Trainers() as trainers:
        files = templates.healthy_files(template, results.SEED)
        healthy = Result(trainers.train(files, export.base, seed=results.SEED).files, export.base)
    monkeypatch.setattr(descent, "check_way", lambda *_: None)
    assert "does not rest on the layers" in strays(template, kept, made, healthy)
    assert not strays(template, kept, made, made)  # a seed on which no run needs its layers


def test_results_without_the_tokens_of_the_run_are_refused():
    export = results.trained(untrained("rl_loop"))
    kept = spread.load(export.template)
    for share, is_said in ((0.1, True), (0.5, False)):
        tokens = round(share * kept.tokens)
        made = Trained(0, steps=kept.steps, tokens=tokens, files=export.run_files())
        problems = judged(export.template, kept, made, export.base).problems
        assert any("were trained on" in problem for problem in problems) == is_said, problems


@pytest.mark.timeout(300)
@pytest.mark.parametrize("name", some(NAMES))
def test_what_only_seems_trained_is_told_beside_a_healthy_run(name):
    """Held against the healthy run of a ticket, which a fix by another author passes."""
    mend = next((one for one in mends.kept()[1] if one.is_right and is_of(one, name)), None)
    case = cases.load(
        mend.case if mend else next(n for n in cases.names() if template_of(n) == name)
    )
    ticket = mend.ticket if mend else folder.ticket_of(1, case.level, case)
    healthy, template = folder.handed_out(ticket)[0], templates.load(name)
    export = results.seeming_trained(name)(untrained(name))
    with Trainers() as trainers:
        if mend:  # a new kind of run has none yet
            judge = Judge(trainers)
            assert not judge.strays(case, mend.files(), seed=results.SEED, healthy=healthy)
        made = trainers.train(healthy, export.base, seed=results.SEED)
    ours = Result(made.files, export.base)
    assert strays(template, spread.load(template), export.result, ours)
