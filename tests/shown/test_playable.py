"""An interactive picture: controls on a page, a still picture elsewhere.

Controls are set in Python, as a page would set them; ipywidgets belongs to the extra `lab`.
"""

import math
import struct

import pytest
import torch
from nbclient import NotebookClient
from nbformat import v4
from whole import cases

from course_utils.concepts import lesson_01
from course_utils.concepts.float_bits import read_bits
from course_utils.concepts.overflow import draw_overflow
from course_utils.numerics import float_format
from course_utils.shown import playable, plotting
from course_utils.shown.figures import strict
from course_utils.shown.playable import Bit, Choice, Slider, panel, play

PATTERNS = (0x0000, 0x0001, 0x03FF, 0x0400, 0x3C00, 0x7BFF, 0x7C00, 0x7E01, 0x8001, 0xC000, 0xFC00)
CONTROLS = {
    "d": Slider(start=1.0, low=0, high=5, step=0.5),
    "format": Choice("a", ("a", "b")),
    "bit": Bit(False),
}


class Still:
    """A picture that says what it was drawn with."""

    def __init__(self, **settings):
        self.settings = settings

    def html(self) -> str:
        return f"<p>{self.settings}</p>"


@pytest.fixture
def shown(monkeypatch):
    shown = []
    monkeypatch.setattr(plotting, "display", shown.append)
    monkeypatch.setenv(strict.ENV_NAME, "1")
    return shown


@pytest.fixture
def widgets():
    return pytest.importorskip("ipywidgets", reason="no ipywidgets here: controls are not tried")


def same(one: float, other: float) -> bool:
    return one == other or (math.isnan(one) and math.isnan(other))


@pytest.mark.parametrize("bits", PATTERNS)
def test_a_pattern_is_the_number_that_struct_and_torch_read(bits):
    by_struct = struct.unpack(">e", bits.to_bytes(2, "big"))[0]
    assert same(float_format("float16").number_of(bits), by_struct)
    signed = torch.tensor(bits - 2**16 if bits >= 2**15 else bits, dtype=torch.int16)
    by_torch = signed.view(torch.bfloat16).item()
    assert same(float_format("bfloat16").number_of(bits), by_torch)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2"])
def test_every_pattern_of_8_bits_is_the_number_that_torch_reads(name):
    numbers = torch.arange(256, dtype=torch.uint8).view(getattr(torch, name)).float().tolist()
    read = float_format(name).number_of
    assert all(same(read(bits), number) for bits, number in enumerate(numbers))


def test_a_reading_says_why_bits_are_no_ordinary_number():
    fp16 = float_format("float16")
    readings = {bits: read_bits(fp16, bits) for bits in PATTERNS}
    meanings = {bits: reading.meaning for bits, reading in readings.items()}
    assert meanings[0x3C00] == "alive" and meanings[0x0001] == "suspicious"
    assert meanings[0x7C00] == meanings[0x7E01] == "dead"
    assert readings[0x7C00].number == "inf" and readings[0x7E01].number == "nan"
    assert readings[0xC000].parts == {
        "sign": "-",
        "exponent": "16: times 2**1",
        "mantissa": "1.0000",
    }


@pytest.mark.parametrize("name", ["flip_bits", "where_exp_overflows"])
def test_without_a_page_the_still_picture_is_shown(name, shown):
    getattr(lesson_01, name)()
    assert len(shown) == 1 and shown[0].text().startswith("Figure: ")
    assert "<img alt=" in shown[0].html()


def test_the_still_picture_is_that_of_the_settings_at_the_start(shown):
    play(Still, CONTROLS)
    assert shown[0].settings == {"d": 1.0, "format": "a", "bit": False}


def test_a_kernel_that_no_page_asks_shows_the_still_picture():
    notebook = v4.new_notebook()
    source = "from course_utils.concepts import lesson_01\nlesson_01.flip_bits()"
    notebook.cells = [v4.new_code_cell(source)]
    NotebookClient(notebook, kernel_name="python3", timeout=120).execute()
    [output] = notebook.cells[0].outputs
    assert set(output.data) == {"text/plain", "text/html"} and "65504" in output.data["text/plain"]
    assert "widgets" not in notebook.metadata


@pytest.mark.parametrize(
    ("request_", "expected"),
    [({"metadata": {"cellId": "a1"}}, True), ({"metadata": {}}, False), ({}, False)],
)
def test_a_page_is_known_by_the_cell_it_names(request_, expected, widgets, monkeypatch):
    shell = type("Shell", (), {"get_parent": lambda self: request_})()
    monkeypatch.setattr(playable, "get_ipython", lambda: shell)
    assert playable.has_page() is expected


def test_a_page_without_ipywidgets_gets_the_still_picture(shown, monkeypatch):
    shell = type("Shell", (), {"get_parent": lambda self: {"metadata": {"cellId": "a1"}}})()
    monkeypatch.setattr(playable, "get_ipython", lambda: shell)
    monkeypatch.setattr(playable, "find_spec", lambda name: None)
    play(Still, CONTROLS)
    assert isinstance(shown[0], Still)


def test_setting_a_control_redraws_the_picture(widgets):
    made = panel(Still, CONTROLS)
    slider, choice, bits, picture = made.children
    slider.value = 3.5
    assert "'d': 3.5" in picture.value and "'bit': False" in picture.value
    choice.value = "b"
    bits.children[0].value = True
    assert picture.value == "<p>{'d': 3.5, 'format': 'b', 'bit': True}</p>"


def test_a_flipped_bit_changes_its_digit_and_the_number(shown, widgets, monkeypatch):
    monkeypatch.setattr(playable, "has_page", lambda: True)
    lesson_01.flip_bits()
    choice, bits, picture = shown[0].children
    lowest_of_exponent = bits.children[5]
    assert "65504" in picture.value and lowest_of_exponent.description == "0"
    lowest_of_exponent.value = True
    assert "are nan" in picture.value and lowest_of_exponent.description == "1"
    choice.value = "bfloat16"
    number = torch.tensor(0x7FFF, dtype=torch.int16).view(torch.bfloat16).item()
    assert f"As bfloat16 these bits are {number:g}" in picture.value


def leaves_float16(d: float) -> bool:
    return math.exp(d) > torch.finfo(torch.float16).max


DISTANCES = (0.0, 2.0, 11.0, 11.5, 40.0, 75.0, 88.0, 89.0, 100.0)


@pytest.mark.parametrize("d", cases(DISTANCES, kind=leaves_float16))
def test_the_picture_of_the_overflow_says_what_torch_computes(d, shown, monkeypatch):
    picture = draw_overflow(d)  # raises for a figure with a fault
    x = torch.tensor(d, dtype=torch.float16, requires_grad=True)
    value = (x.exp() - x - 1).clamp(max=10)
    value.backward()
    expected = f"float16: exp {x.exp().item():.3g}, loss {value.item():g}"
    assert f"{expected}, gradient {x.grad.item():.3g}" in " ".join(picture.text().split())
