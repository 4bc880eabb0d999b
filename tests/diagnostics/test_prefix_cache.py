"""An engine that keeps its prefix cache over a sync: diagnose tells it from old weights."""

import pytest

from course_utils import incidents
from course_utils.diagnostics import diagnose
from course_utils.diagnostics.diagnosis.judges.policy import judge_numbers
from course_utils.diagnostics.diagnosis.measures.policy_numbers import PolicyNumbers
from course_utils.diagnostics.diagnosis.sheet.finding import Sheet
from course_utils.incidents.prefix_cache import CachingEngine
from course_utils.incidents.two_engines import run_with


def found(run) -> list[tuple[str, str]]:
    parts = {"sampler": run.parts["sampler"]}
    with diagnose.watching(run.trainer, **parts) as ride:
        run.start()
    return [(one.key, one.place) for one in ride.report.causes]


@pytest.mark.parametrize("variant", ["broken", "twin"])
def test_the_incident_is_named_with_its_place_and_its_twin_is_not(variant):
    run = incidents.load_incident("engine_keeps_its_prefix_cache").make(variant, 0)
    due = [("prefix_cache_kept", "the engine's prefix cache")]
    assert found(run) == due * (variant == "broken")


def test_weights_that_never_arrive_stay_old_weights_also_where_prompts_come_again():
    engine = CachingEngine(clears=True)
    run = run_with(engine, 0, steps=12, num_prompts=16, learning_rate=2e-4, synced=False)
    assert found(run)[0][0] == "stale_sampler"


def test_an_engine_that_agrees_keeps_its_cache_without_a_word():
    run = run_with(CachingEngine(clears=False), 0, steps=8, num_prompts=16, learning_rate=1e-9)
    assert found(run) == []


def batch(new: float | None, again: float | None, moved: float | None = 0.1) -> PolicyNumbers:
    known = [gap for gap in (new, again) if gap is not None]
    gaps = dict(gap_new=new, gap_again=again, logp_difference=sum(known) / len(known))
    return PolicyNumbers(num_replies=8, ratio=1.0, rows_apart=0.5, moved=moved, **gaps)


@pytest.mark.parametrize(
    ("numbers", "due"),
    [
        ([batch(1e-6, None)] * 3 + [batch(None, 0.1)] * 3, "prefix_cache_kept"),
        ([batch(1e-6, 0.1)] * 4, "prefix_cache_kept"),  # new and known prompts side by side
        ([batch(0.1, 0.1)] * 4, "logp_disagree"),
        ([batch(1e-6, None, moved=0.0)] * 3 + [batch(None, 0.1)] * 3, "stale_sampler"),
        ([batch(0.006 * n, None) for n in range(4)] + [batch(None, 0.03)] * 4, "stale_sampler"),
    ],
)
def test_only_prompts_that_come_again_after_an_update_accuse_the_cache(numbers, due):
    sheet = Sheet()
    judge_numbers(numbers, sheet)
    assert [one.key for one in sheet.found] == [due]
