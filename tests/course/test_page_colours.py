"""Boxes can be read in JupyterLab's light theme and in its dark one, by their contrasts."""

import re

import pytest
from matplotlib.colors import to_rgb

from course_utils.notebook.scaffolding import FRAME
from course_utils.shown import page
from course_utils.shown.figures.colours import contrast
from course_utils.shown.page import LOOKS, State

# Ground of the page, and its text: --jp-layout-color0 and --jp-content-font-color1 of each theme.
THEMES = {"light": ("#ffffff", "rgba(0, 0, 0, 0.87)"), "dark": ("#111111", "#ffffff")}
LINES, WORDS = 3.0, 4.5  # WCAG 2.2, success criteria 1.4.11 and 1.4.3

Rgb = tuple[float, ...]


def on_top_of(ground: Rgb, colour: str) -> Rgb:
    """What is seen of a CSS colour, which may be translucent, on an opaque ground."""
    if colour.startswith("#"):
        return to_rgb(colour)
    *rgb, alpha = map(float, re.findall(r"[\d.]+", colour))
    return tuple(alpha * c / 255 + (1 - alpha) * g for c, g in zip(rgb, ground, strict=True))


def test_a_translucent_colour_is_seen_through():
    assert on_top_of((1, 1, 1), "rgba(0, 0, 0, 0.5)") == (0.5, 0.5, 0.5)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("state", State)
def test_a_box_and_a_nan_within_it_can_be_read_and_its_edge_seen(theme, state):
    ground = on_top_of((), THEMES[theme][0])
    edge, background, _ = LOOKS[state]
    box = on_top_of(ground, background)
    marked = on_top_of(box, page.GROUND)
    assert contrast(on_top_of(box, THEMES[theme][1]), box) >= WORDS
    assert contrast(on_top_of(marked, THEMES[theme][1]), marked) >= WORDS
    assert min(contrast(on_top_of((), edge), seen) for seen in (ground, box)) >= LINES


@pytest.mark.parametrize("theme", THEMES)
def test_the_frame_of_an_exercise_is_seen(theme):
    edge = re.search(r"#\w{6}", FRAME)[0]
    assert contrast(on_top_of((), edge), on_top_of((), THEMES[theme][0])) >= LINES


def test_no_block_sets_the_colour_of_its_words():
    """A theme's own colour is readable on its ground; a fixed one is not in both."""
    blocks = [page.box(state, "title", page.lines(("nan",))) for state in State]
    blocks += [page.card(State.BAD, "C1", "it", found="no", details=(("vote", "true"),))]
    blocks += [page.line(State.GOOD, "it", (("saw", "1"),)), page.preformatted(("inf",))]
    blocks += [page.table(("a",), [("nan",)])]
    assert not any(re.search(r"[\"; ]color:", block) for block in blocks)
