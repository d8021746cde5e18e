"""Pictures of a report: matplotlib's SVG, in colours that follow the page's theme.

What is drawn gets colours that stand for a name. In the SVG they are replaced by variables of the
style sheet, so that one picture serves light, dark and paper. Texts stay texts, in the page's font.
"""

import html
import io
import itertools
import re
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from kernelfit.report.blocks import Figure
from kernelfit.utils.plotting import load_matplotlib

INK, MUTED, RULE = "#0a0a01", "#0a0a02", "#0a0a03"
SERIES = tuple(f"#0a0a1{k}" for k in range(1, 7))
_VARIABLES = {INK: "ink", MUTED: "muted", RULE: "rule"}
_VARIABLES |= {colour: f"c{k}" for k, colour in enumerate(SERIES, start=1)}
_BLUE, _ORANGE = (0.22, 0.47, 0.76), (0.82, 0.44, 0.16)  # of heat maps, on light and on dark
_WIDTH, _HEIGHT = 360, 250  # points; a phone shows the width as it is

_STYLE = {
    "axes.axisbelow": True,
    "axes.edgecolor": RULE,
    "axes.facecolor": "none",
    "axes.grid": True,
    "axes.labelcolor": MUTED,
    "axes.labelsize": 9,
    "axes.linewidth": 0.8,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "axes.unicode_minus": False,
    "figure.facecolor": "none",
    "font.size": 9,
    "grid.color": RULE,
    "grid.linewidth": 0.5,
    "legend.fontsize": 8.5,
    "legend.frameon": False,
    "lines.linewidth": 1.5,
    "svg.fonttype": "none",
    "text.color": INK,
    "text.parse_math": False,  # a column may well be called "$"
    "xtick.color": RULE,
    "xtick.labelcolor": MUTED,
    "ytick.color": RULE,
    "ytick.labelcolor": MUTED,
}
_numbers = itertools.count()


def draw(paint: Callable[[Any], Any], alt: str, caption: str = "", height: int = _HEIGHT) -> Figure:
    """Return a picture.

    Parameters
    ----------
    paint : callable
        Draws into axes.
    alt : str
        What it shows, for those who do not see it.
    caption : str, default=""
        The line below; `alt` when empty.
    height : int, default=250
        In points; the width is 360.

    Returns
    -------
    Figure
    """
    mpl = load_matplotlib()
    out = io.StringIO()
    with warnings.catch_warnings(), mpl.rc_context():
        warnings.simplefilter("ignore", UserWarning)  # glyphs that only the page's font has
        mpl.rcdefaults()
        mpl.rcParams.update(_STYLE, **{"axes.prop_cycle": mpl.cycler(color=SERIES)})
        figure = mpl.figure.Figure(figsize=(_WIDTH / 72, height / 72), layout="constrained")
        ax = figure.add_subplot()
        paint(ax)
        for one in figure.axes:
            _plain_logarithms(one, mpl.ticker)
        figure.savefig(out, format="svg")
    return Figure(_themed(out.getvalue(), alt, height), caption or alt)


def draw_bars(
    names: Sequence[str], values: Any, what: str, alt: str, caption: str, space: int
) -> Figure:
    """Return bars from left to right with names beside them, each of which takes some points."""

    def paint(ax: Any) -> None:
        places = np.arange(len(names))
        ax.barh(places, values, height=0.7)
        ax.set_yticks(places, names)
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.set(xlabel=what)

    return draw(paint, alt, caption, height=60 + space * len(names))


def heat_colours(matrix: Any) -> dict[str, Any]:
    """Return the options of ``imshow`` by which zero is the page itself and large values are dense.

    Parameters
    ----------
    matrix : ndarray

    Returns
    -------
    dict
    """
    colours = load_matplotlib().colors
    # A few large values, as a diagonal has them, are not to make all others pale.
    largest = max(float(np.quantile(np.abs(matrix), 0.995)), np.finfo(float).tiny)
    clear, full = (*_BLUE, 0.0), (*_BLUE, 1.0)
    if np.min(matrix) >= -1e-9 * largest:
        scale = colours.LinearSegmentedColormap.from_list("dense", [clear, full])
        return {"cmap": scale, "vmin": 0.0, "vmax": largest}
    stops = [(*_ORANGE, 1.0), (*_ORANGE, 0.0), clear, full]
    places = [0.0, 0.5, 0.5, 1.0]
    scale = colours.LinearSegmentedColormap.from_list(
        "signed", list(zip(places, stops, strict=True))
    )
    return {"cmap": scale, "vmin": -largest, "vmax": largest}


def _plain_logarithms(ax: Any, ticker: Any) -> None:
    """Write the ticks of logarithmic axes without powers, which would need mathematics."""
    for axis in (ax.xaxis, ax.yaxis):
        if axis.get_scale() == "log":
            axis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
            axis.set_minor_formatter(ticker.NullFormatter())


def _themed(svg: str, alt: str, height: int) -> str:
    """Return matplotlib's SVG as a part of a page: own ids, colours by name, the page's font."""
    prefix = f"f{next(_numbers)}-"
    body = svg[svg.index("<svg") :]
    body = body[body.index(">") + 1 :]
    body = re.sub(r"<metadata>.*?</metadata>", "", body, flags=re.S)
    body = re.sub(r"<style.*?</style>", "", body, flags=re.S)
    body = re.sub(r"<!--.*?-->", "", body, flags=re.S)  # texts, once more
    body = re.sub(r'\bid="', f'id="{prefix}', body)
    body = body.replace('xlink:href="#', f'href="#{prefix}').replace("url(#", f"url(#{prefix}")
    body = body.replace("xlink:href=", "href=")
    body = re.sub(r"font: ?([\d.]+)px [^;\"]*", r"font-size: \1px", body)
    for colour, name in _VARIABLES.items():
        body = body.replace(colour, f"var(--{name})")
    head = f'<svg class="chart" viewBox="0 0 {_WIDTH} {height}" role="img"'
    return f'{head} aria-label="{html.escape(alt, quote=True)}">{body}'
