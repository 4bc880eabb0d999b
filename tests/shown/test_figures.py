"""Every figure can be read: by the colour-blind, at the size shown, with nothing covered.

Figures of lessons are looked at where they are drawn, while nbval executes the solved notebooks
(solutions/conftest.py makes `plotting.show` refuse a fault); here are the looks themselves, and
the pictures that can be drawn without a lesson.
"""

import importlib
import inspect
import math
import pkgutil
import random
from importlib.util import module_from_spec, spec_from_file_location
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb
from nbformat import v4
from whole import cases

from course_utils.commands import build
from course_utils.errors import FigureFault
from course_utils.shown import plotting
from course_utils.shown.figures import strict
from course_utils.shown.figures.alt_text import describe
from course_utils.shown.figures.colours import COLOURS, INK, SHADES, contrast, tint
from course_utils.shown.figures.faults import faults
from course_utils.shown.figures.finish import CURVE_NAME, finish
from course_utils.shown.figures.geometry import spread

ROOT = Path(__file__).parents[2]

# Linear RGB as people without one kind of cones see it: Machado, Oliveira and Fernandes (2009),
# "A physiologically-based model for simulation of color vision deficiency", severity 1.0.
SEEN_WITH = {
    "all cones": np.eye(3),
    "protanopia": np.array(
        [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ]
    ),
    "deuteranopia": np.array(
        [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ]
    ),
    "tritanopia": np.array(
        [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ]
    ),
}
TO_XYZ = np.array(
    [[0.412456, 0.357576, 0.180438], [0.212673, 0.715152, 0.072175], [0.019334, 0.119192, 0.950304]]
)
MIN_DISTANCE = 20  # in CIE L*a*b*; about 2 can just be told apart side by side


@pytest.fixture(autouse=True)
def closed_figures():
    yield
    plt.close("all")


@pytest.fixture
def shown(monkeypatch):
    """What `plotting.show` displays; a figure with a fault raises."""
    pictures = []
    monkeypatch.setattr(plotting, "display", pictures.append)
    monkeypatch.setenv(strict.ENV_NAME, "1")
    return pictures


def axes(width=6.0, height=3.0):
    return plt.subplots(figsize=(width, height), layout="constrained")


def lab(colour, cones: str) -> np.ndarray:
    """CIE L*a*b* of a colour as it is seen with these cones."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    xyz = TO_XYZ @ (SEEN_WITH[cones] @ linear).clip(0, 1) / np.array([0.95047, 1, 1.08883])
    f = np.where(xyz > (6 / 29) ** 3, np.cbrt(xyz), xyz / (3 * (6 / 29) ** 2) + 4 / 29)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


@pytest.mark.parametrize("colour", [*COLOURS.values(), *SHADES, INK])
def test_words_in_any_colour_can_be_read_on_white(colour):
    assert contrast(colour, "white") >= 4.5


@pytest.mark.parametrize("meaning", COLOURS)
def test_words_can_be_read_on_the_tint_of_a_meaning(meaning):
    assert contrast(INK, tint(meaning)) >= 7


@pytest.mark.parametrize("cones", SEEN_WITH)
def test_meanings_are_told_apart_with_any_cones(cones):
    for one, other in combinations(COLOURS.values(), 2):
        assert np.linalg.norm(lab(one, cones) - lab(other, cones)) >= MIN_DISTANCE, (one, other)


def test_the_simulation_finds_colours_that_the_colour_blind_confuse():
    red, green = "#B22222", "#5A6B00"
    apart = {cones: np.linalg.norm(lab(red, cones) - lab(green, cones)) for cones in SEEN_WITH}
    assert apart["all cones"] > 3 * apart["deuteranopia"]


# Each draws one fault; the words are those that must be found.
def small_words(ax):
    ax.text(0.5, 0.5, "tiny", fontsize=8)
    return "'tiny' is shown at 8.0 pt"


def small_after_shrinking(ax):
    ax.figure.set_figwidth(10)
    ax.text(0.5, 0.5, "wide", fontsize=9.4)
    return "'wide' is shown at 8.5 pt"


def small_exponents(ax):
    ax.text(0.5, 0.5, "$10^{34}$", fontsize=11)
    return "is shown at 7.7 pt"


def overlapping_words(ax):
    ax.text(0.5, 0.5, "one word")
    ax.text(0.52, 0.5, "another")
    return "'one word' overlaps 'another'"


def overlapping_ticks(ax):
    ax.set_xticks([0.5, 0.51], ["left", "right"])
    return "'left' overlaps 'right'"


def turned_over_each_other(ax):
    ax.text(0.5, 0.5, "turned up", rotation=45, ha="center", va="center")
    ax.text(0.5, 0.5, "turned down", rotation=-45, ha="center", va="center")
    return "'turned up' overlaps 'turned down'"


def words_outside(ax):
    ax.set_axis_off()
    ax.text(0.9, 0.5, "much too long for its place", in_layout=False)
    return "leaves the figure"


def words_over_a_curve(ax):
    ax.plot([0, 1], [0.5, 0.5], color=COLOURS["alive"])
    ax.text(0.5, 0.5, "crossed", va="center")
    return "'crossed' lies over something drawn"


def words_over_a_steep_curve(ax):
    ax.plot([0.55, 0.56], [0, 1], color=COLOURS["alive"], linewidth=1)
    ax.set_xlim(0, 1)
    ax.text(0.5, 0.5, "crossed downwards", va="center")
    return "'crossed downwards' lies over something drawn"


def words_over_the_end_of_a_bar(ax):
    ax.barh([0.5], [0.5], color=tint("neutral", 0.4))
    ax.text(0.5, 0.5, "half in it", ha="center", va="center")
    return "'half in it' lies over something drawn"


def a_box_that_hides_a_curve(ax):
    ax.plot([0, 1], [0.5, 0.5], color=COLOURS["alive"])
    ax.text(0.5, 0.5, "boxed", bbox={"facecolor": "white", "edgecolor": "none"})
    return "the box of 'boxed' hides a curve"


def pale_words(ax):
    ax.text(0.5, 0.5, "pale", color="#999999")
    return "'pale' has a contrast of 2.8"


def faded_words(ax):
    ax.text(0.5, 0.5, "faded", color=INK, alpha=0.4)
    return "'faded' has a contrast of"


def dark_words_on_dark(ax):
    ax.barh([0.5], [1], color=COLOURS["alive"])
    ax.text(0.3, 0.5, "in the bar", color=INK, va="center")
    return "'in the bar' has a contrast of 3"


def a_colour_of_its_own(ax):
    ax.plot([0, 1], [0, 1], color="green")
    return "the colour #008000 means nothing here"


def a_coloured_surface(ax):
    ax.axvspan(0.2, 0.4, color="gold")
    return "the colour #ffd700 means nothing here"


def a_foreign_colour_map(ax):
    ax.imshow([[0.0, 1.0]], cmap="viridis")
    return "means nothing here"


FAULTY = [
    small_words,
    small_after_shrinking,
    small_exponents,
    overlapping_words,
    overlapping_ticks,
    turned_over_each_other,
    words_outside,
    words_over_a_curve,
    words_over_a_steep_curve,
    words_over_the_end_of_a_bar,
    a_box_that_hides_a_curve,
    pale_words,
    faded_words,
    dark_words_on_dark,
    a_colour_of_its_own,
    a_coloured_surface,
    a_foreign_colour_map,
]


@pytest.mark.parametrize("draw", FAULTY, ids=lambda draw: draw.__name__)
def test_each_fault_is_found_and_no_other(draw):
    fig, ax = axes()
    expected = draw(ax)
    found = faults(fig)
    assert found and all(expected in fault or "means nothing" in fault for fault in found), found
    assert any(expected in fault for fault in found)


@pytest.mark.parametrize("draw", cases(FAULTY), ids=lambda draw: draw.__name__)
def test_no_faulty_figure_is_shown_where_the_course_is_tested(draw, shown):
    fig, ax = axes()
    draw(ax)
    with pytest.raises(FigureFault):
        plotting.show(fig, "A caption.")
    assert not shown


def test_a_reader_sees_a_figure_in_spite_of_its_faults(shown, monkeypatch):
    monkeypatch.delenv(strict.ENV_NAME)
    fig, ax = axes()
    small_words(ax)
    plotting.show(fig, "A caption.")
    assert "A caption." in shown[0].html()


def test_solved_notebooks_are_tested_where_no_fault_is_let_through(monkeypatch):
    monkeypatch.delenv(strict.ENV_NAME, raising=False)
    spec = spec_from_file_location("nbval_conftest", ROOT / "solutions" / "conftest.py")
    conftest = module_from_spec(spec)
    spec.loader.exec_module(conftest)
    setup = conftest.pytest_runtest_setup(SimpleNamespace(path=ROOT / "01_floats.ipynb"))
    next(setup)  # here nbval starts the kernel
    assert strict.is_strict()
    setup.close()
    conftest.SCRATCH.cleanup()
    assert not strict.is_strict()


def test_notebooks_are_built_where_no_fault_is_let_through(monkeypatch, tmp_path):
    jobs = []
    monkeypatch.setattr(build, "derive_solved", lambda source: v4.new_notebook())
    monkeypatch.setattr(build, "execute", lambda given, *_: jobs.extend(given))
    with pytest.raises(TypeError):  # nothing was executed
        build.solve(SimpleNamespace(solutions=tmp_path), SimpleNamespace(stem="01_floats"))
    assert jobs[0].env[strict.ENV_NAME]


# Each draws a figure without a fault, and returns words that its description must hold.
def many_ends_at_one_place(ax):
    ends = {"a": 0.5, "b": 0.501, "c": 0.5, "d": 0.499}
    curves = {name: [0.3, 0.2, end] for name, end in ends.items()}
    plotting.draw_curves(ax, range(3), curves, meanings={"a": "alive", "b": "dead"})
    return "Curves of y over x, 0 to 2. a: 0.3 at 0, then 0.5 at 2, lowest 0.2."


def broken_early(ax):
    curves = {"whole": [1.0] * 9, "broken": [1.0] * 4 + [math.inf] * 5}
    plotting.draw_curves(ax, range(9), curves, meanings={"broken": "dead"})
    return "broken: 1 at 0, then 1 at 3; 5 of 9 not finite."


def broken_in_the_middle(ax):
    plotting.draw_curves(ax, range(5), {"gap": [1, 2, math.nan, 2, 1]})
    return "1 of 5 not finite"


def on_a_log_scale_to_1e34(ax):
    plotting.draw_curves(ax, range(3), {"loss": [1, 1e17, 1e34], "sound": [1, 1, 1]})
    ax.set(yscale="log", title="It grows", xlabel="step", ylabel="loss")
    return "It grows. Curves of loss, on a log scale, over step, 0 to 2. loss: 1 at 0, then 1e+34"


def a_limit_that_curves_cross(ax):
    plotting.draw_curves(ax, range(3), {"up": [1, 2, 3], "down": [3, 2, 1]})
    plotting.draw_limit(ax, 2, "the limit, 2")
    return "A line marks the limit, 2."


def bars_with_a_limit_and_a_nan(ax):
    bars = {"lost": math.nan, "right": 0.8, "wrong": -0.2}
    plotting.draw_bars(ax, bars, meanings={"lost": "dead", "right": "alive"})
    plotting.draw_limit(ax, 0.5, "chance", axis="x")
    ax.set(xlabel="share")
    return "Bars of share: lost nan, right 0.8, wrong -0.2. A line marks chance."


def a_grid_of_words(ax):
    meanings = {"lives": "alive", "gone": "dead"}
    table = [["lives", "gone"], ["lives", "unknown"]]
    plotting.draw_grid(ax, rows=["r", "s"], columns=["c", "d"], texts=table, meanings=meanings)
    return "2 lives, 1 gone, 1 unknown. Columns: c, d. r: lives, gone. s: lives, unknown."


def chains_of_stages(ax):
    chain = [("embed", "frozen", False), ("layer", "no gradient", False), ("head", "frozen", True)]
    plotting.draw_chains(ax, {"reentrant": chain})
    return "reentrant: backwards from the loss head; then cut off: layer, embed; weights without"


CLEAN = [
    many_ends_at_one_place,
    broken_early,
    broken_in_the_middle,
    on_a_log_scale_to_1e34,
    a_limit_that_curves_cross,
    bars_with_a_limit_and_a_nan,
    a_grid_of_words,
    chains_of_stages,
]


@pytest.mark.parametrize("draw", CLEAN, ids=lambda draw: draw.__name__)
def test_what_the_course_draws_has_no_fault_and_is_told_in_its_alt(draw, shown):
    fig, ax = axes()
    expected = draw(ax)
    plotting.show(fig, "A caption.")
    assert expected in shown[0]._alt


@pytest.mark.parametrize("seed", cases(range(8)))
def test_names_of_random_curves_never_collide(seed):
    draw = random.Random(seed)
    fig, ax = axes(draw.choice([4, 6, 8]), draw.choice([2, 3]))
    points, curves = draw.randint(2, 40), {}
    for name in ("short", "of two words", "a rather longer name", "d")[: draw.randint(1, 4)]:
        size = 10 ** draw.uniform(-3, 3)
        curves[name] = [size * draw.random() for _ in range(points)]
        if draw.random() < 0.4:
            cut = draw.randint(1, points)
            curves[name][cut:] = [math.nan] * (points - cut)
    plotting.draw_curves(ax, range(points), curves)
    ax.set(yscale=draw.choice(["linear", "log"]), xlabel="step")
    finish(fig)
    assert not faults(fig), (points, curves)


def test_a_name_without_room_in_its_axes_stands_beside_them():
    fig, ax = axes()
    zigzag = [i % 2 for i in range(200)]
    plotting.draw_curves(ax, range(200), {"all over": zigzag, "cut": [0.5] * 99 + [math.inf] * 101})
    finish(fig)
    cut = next(text for text in ax.texts if text.get_gid() == CURVE_NAME and "cut" in str(text))
    assert cut.get_window_extent().x1 > ax.get_window_extent().x1 and not faults(fig)


@pytest.mark.parametrize("seed", range(5))
def test_spread_keeps_order_room_and_bounds(seed):
    draw = random.Random(seed)
    wanted = [draw.uniform(0, 100) for _ in range(6)]
    placed = spread(wanted, [10.0] * 6, 0.0, 100.0)
    assert min(placed) >= 5 and max(placed) <= 95
    assert all(abs(a - b) >= 10 - 1e-9 for a, b in combinations(placed, 2))
    assert np.argsort(placed).tolist() == np.argsort(wanted).tolist()


def test_more_curves_than_line_styles_are_refused():
    _, ax = axes()
    with pytest.raises(ValueError, match="at most 4"):
        plotting.draw_curves(ax, [0], {str(i): [0] for i in range(5)})


def test_a_cross_is_red_only_where_a_weight_below_it_waits():
    _, ax = plt.subplots()
    chain = [("embed", "frozen", False), ("layer", "no gradient", False), ("head", "frozen", True)]
    plotting.draw_chains(ax, {"reentrant": chain})
    crosses = [text.get_color() for text in ax.texts if text.get_text() == "x"]
    assert crosses == [COLOURS["neutral"], COLOURS["dead"]]


def test_a_description_takes_no_limit_for_data_and_reads_two_axes():
    fig, (left, right) = plt.subplots(1, 2, sharey=True)
    left.plot([1, 2], [3, 4], label="a")
    left.axhline(99)
    left.set_ylabel("nats")
    right.bar(["x", "y"], [1, 2])
    told = describe(fig)
    assert "99" not in told and "Curves of nats over x, 1 to 2. a: 3 at 1, then 4 at 2." in told
    assert "Bars of length: x 1, y 2." in told


def concept_pictures():
    """Every concept picture that needs no data; those that do are drawn with theirs elsewhere."""
    try:
        package = importlib.import_module("course_utils.concepts")
    except ModuleNotFoundError:
        return
    lessons = (m for m in pkgutil.iter_modules(package.__path__) if m.name.startswith("lesson_"))
    for info in lessons:
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        for name, function in inspect.getmembers(module, inspect.isfunction):
            parameters = inspect.signature(function).parameters.values()
            is_free = all(p.default is not p.empty for p in parameters)
            is_public = function.__module__ == module.__name__ and not name.startswith("_")
            if is_public and is_free:  # what needs a lesson's data is looked at in the lesson
                yield pytest.param(function, id=f"{info.name}.{name}")


@pytest.mark.parametrize("draw", list(concept_pictures()))
def test_a_concept_picture_can_be_read_and_says_what_is_seen(draw, shown):
    draw()
    assert shown, "it shows nothing"
    for picture in shown:
        assert len(picture._alt) > 40 and picture._caption.endswith(".")
