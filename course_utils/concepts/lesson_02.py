"""Lesson 02 in pictures: how a signal ends a process, and what its parent learns of it."""

import signal
from itertools import pairwise

from matplotlib.axes import Axes
from matplotlib.patches import FancyBboxPatch

from course_utils.concepts.diagram import Box, arrow, box, note, sheet
from course_utils.shown import plotting
from course_utils.shown.plotting import COLOURS, INK


def who_ends_it() -> None:
    """Processor, operating system, child and parent: who raises SIGFPE, and what is left."""
    number = int(signal.SIGFPE)
    ax = sheet(8.6, 3.25)
    library = _child(ax)
    processor = box(ax, (7.55, library.y), "processor", width=1.9, height=0.56)
    system = box(ax, (6.35, 0.4), "operating system", width=4.3, height=0.56)
    parent = box(ax, (1.3, 0.4), "parent: run_in_child", width=2.4, height=0.56)
    dead = {"meaning": "dead"}
    arrow(ax, library.right, processor.left, **dead)
    note(ax, (5.9, library.y + 0.2), "1  instruction", **dead)
    arrow(ax, processor.bottom, (processor.x, system.top[1]), **dead)
    note(ax, (processor.x - 0.12, 1.3), "2  cannot finish it:\ninterrupt", ha="right", **dead)
    arrow(ax, (library.x, system.top[1]), library.bottom, **dead)
    note(ax, (library.x - 0.12, 1.3), f"3  signal {number},\nSIGFPE", ha="right", **dead)
    arrow(ax, system.left, parent.right)
    note(ax, (3.35, 0.58), f"return code {-number}")
    arrow(ax, (parent.x, 1.85), parent.top)
    note(ax, (parent.x + 0.12, 1.3), "names of the Python frames,\nby the fault handler", ha="left")
    plotting.show(
        ax.figure,
        "The signal comes from below Python, and after it no line of Python runs: no exception, "
        "no traceback. The parent gets a number, and the names of the Python frames.",
        alt="A child process: Python frames call each other, script, trainer and model, and the "
        "last calls a native library. 1: the processor gets an instruction of the library. 2: it "
        "cannot finish it and interrupts the operating system. 3: that sends the child signal "
        f"{number}, SIGFPE. The parent, run_in_child, gets return code {-number} from the "
        "operating system, and from the child's fault handler the names of its Python frames.",
    )


def _child(ax: Axes) -> Box:
    """The process that dies; returns its last box, the native library."""
    style = {"boxstyle": "round,pad=0,rounding_size=0.08", "linestyle": (0, (4, 3))}
    frame = {"facecolor": "none", "edgecolor": COLOURS["neutral"], **style}
    ax.add_patch(FancyBboxPatch((0.1, 1.85), 5.2, 1.3, **frame))
    note(ax, (0.28, 2.97), "child process", ha="left", color=INK, weight="bold")
    stack = [
        box(ax, (0.85 + 1.25 * place, 2.25), name, width=1.0, meaning="alive", filled=True)
        for place, name in enumerate(("script", "trainer", "model"))
    ]
    stack.append(box(ax, (4.6, 2.25), "library", width=1.0, meaning="dead", filled=True))
    for caller, called in pairwise(stack):
        arrow(ax, caller.right, called.left)
    note(ax, (stack[1].x, 2.68), "Python", meaning="alive")
    note(ax, (stack[3].x, 2.68), "native code", meaning="dead")
    return stack[3]
