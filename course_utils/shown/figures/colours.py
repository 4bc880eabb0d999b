"""The colours of all figures, named by their meaning. Draws nothing.

Each is dark enough for words on white, and every two can be told apart without red, green or blue
cones: a test simulates all three. Colour is never the only cue.
"""

from matplotlib.colors import LinearSegmentedColormap, to_hex, to_rgb

COLOURS = {
    "alive": "#0072B2",  # blue: what works, learns, gets a gradient
    "dead": "#C04A00",  # vermillion: what is not finite, raised, or gone
    "suspicious": "#6A1B6E",  # plum: finite, and still not as it should be
    "neutral": "#666666",  # grey: what is compared to, and limits
}
INK = "#222222"  # words
SHADES = ("#222222", "#666666", "#4A4A4A", "#767676")  # curves that have no meaning, in turn
PALE = 0.18  # of the way from white


def tint(meaning: str, strength: float = PALE) -> str:
    """A pale ground in the colour of `meaning`, on which words in INK can be read.

    >>> tint("neutral"), tint("alive", 1.0)
    ('#e3e3e3', '#0072b2')
    """
    return to_hex([1 - strength * (1 - part) for part in to_rgb(COLOURS[meaning])])


def shading(meaning: str) -> LinearSegmentedColormap:
    """A colour map from white to the colour of `meaning`, for pictures of many values.

    >>> shading("dead").name
    'dead'
    """
    return LinearSegmentedColormap.from_list(meaning, ["white", COLOURS[meaning]])


def luminance(colour) -> float:
    """Relative luminance of an RGB colour, 0 to 1 (WCAG 2.2)."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in to_rgb(colour)]
    return sum(weight * part for weight, part in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def contrast(one, other) -> float:
    """Contrast ratio of two colours, 1 to 21 (WCAG 2.2); words need 4.5, lines 3.

    >>> contrast("black", "white")
    21.0
    """
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)
