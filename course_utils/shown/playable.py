"""Interactive pictures: controls where a page can show them, a still picture elsewhere.

Draws nothing itself: a picture comes from a function of the settings that the controls hold.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec

from IPython import get_ipython

from course_utils.shown import plotting
from course_utils.shown.figures.picture import Picture


@dataclass(frozen=True)
class Slider:
    """A number within a range, in steps."""

    start: float
    low: float
    high: float
    step: float

    def widget(self, name: str, widgets):
        wide = widgets.Layout(width="480px")
        span = {"min": self.low, "max": self.high, "step": self.step, "layout": wide}
        return widgets.FloatSlider(self.start, description=name, continuous_update=False, **span)


@dataclass(frozen=True)
class Choice:
    """One of several words."""

    start: str
    options: tuple[str, ...]

    def widget(self, name: str, widgets):
        return widgets.ToggleButtons(value=self.start, options=self.options, description=name)


@dataclass(frozen=True)
class Bit:
    """A bit that a click flips; its name is shown as a tooltip."""

    start: bool

    def widget(self, name: str, widgets):
        narrow = widgets.Layout(width="36px", padding="0", margin="1px")
        button = widgets.ToggleButton(self.start, tooltip=name, layout=narrow)
        widgets.dlink((button, "value"), (button, "description"), lambda is_set: str(int(is_set)))
        return button


Control = Slider | Choice | Bit


def play(draw: Callable[..., Picture], controls: dict[str, Control]) -> None:
    """Show the picture for the controls' first settings, and on a page the controls too.

    Args:
        draw: takes the settings by name and returns their picture.
        controls: for each setting what changes it. Bits stand in one row, in their order.
    """
    if has_page():
        plotting.display(panel(draw, controls))
    else:
        plotting.display(draw(**{name: control.start for name, control in controls.items()}))


def has_page() -> bool:
    """Whether this cell runs on a page that can show controls.

    JupyterLab 4.6 says which cell it asks a kernel to run; nbclient, papermill and nbval, which
    store outputs for pages without a kernel, do not. A page that does not say so gets the
    still picture.
    """
    shell = get_ipython()
    request = shell.get_parent() if hasattr(shell, "get_parent") else {}
    is_named = "cellId" in (request.get("metadata") or {})
    return is_named and find_spec("ipywidgets") is not None


def panel(draw: Callable[..., Picture], controls: dict[str, Control]):
    """Controls above the picture for their settings: an ipywidgets box."""
    import ipywidgets  # a page has it, and a plain kernel may not

    made = {name: control.widget(name, ipywidgets) for name, control in controls.items()}
    bits = [made[name] for name, control in controls.items() if isinstance(control, Bit)]
    rows = [widget for widget in made.values() if widget not in bits]
    picture = ipywidgets.HTML()
    redraw = partial(_redraw, picture, draw, made)
    redraw()
    for widget in made.values():
        widget.observe(redraw, "value")
    return ipywidgets.VBox([*rows, *([ipywidgets.HBox(bits)] if bits else []), picture])


def _redraw(picture, draw: Callable[..., Picture], made: dict, _change: object = None) -> None:
    picture.value = draw(**{name: widget.value for name, widget in made.items()}).html()
