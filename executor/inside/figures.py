"""Figures that a cell left open become PNG files in the workspace.

Drawn with Agg, in a style and fonts that read well in a chat.
"""

from __future__ import annotations

import contextlib
import dataclasses
import importlib
import logging
import os
import re
import sys
import warnings
import weakref
from typing import Any

from executor.inside.chart_data import describe_chart

_MAX_FIGURES = 20
_MAX_SIDE_IN = 40.0  # inches; a figure larger than this is a slip of units, and its pixels would not fit in memory

STYLE: dict[str, Any] = {
    "figure.figsize": (8.0, 4.5),
    "figure.dpi": 100,
    "savefig.dpi": 150,
    "savefig.bbox": "tight",
    "figure.max_open_warning": 0,
    "font.size": 11,
    "axes.titlesize": 13,
    "axes.titleweight": "bold",
    "axes.titlepad": 10,
    "axes.labelsize": 11,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.edgecolor": "#8a8f98",
    "axes.formatter.use_mathtext": False,
    "axes.formatter.limits": (-6, 9),
    "axes.formatter.useoffset": False,
    "axes.unicode_minus": False,
    "grid.color": "#d9dce1",
    "grid.linewidth": 0.7,
    "lines.linewidth": 2.0,
    "legend.frameon": False,
    "xtick.color": "#4b5058",
    "ytick.color": "#4b5058",
    "font.family": ["DejaVu Sans", "Noto Sans CJK SC"],
    "date.autoformatter.month": "%b %Y",
}
_COLOURS = [
    "#2f6fb7",
    "#e07b39",
    "#3a9a6c",
    "#c44f5c",
    "#7c62b5",
    "#8f6b4f",
    "#d178b0",
    "#6d7681",
    "#b3a12c",
    "#2fa5b5",
]

_saved: weakref.WeakKeyDictionary[Any, str] = weakref.WeakKeyDictionary()
_ours: weakref.WeakSet[Any] = weakref.WeakSet()
"""Figures that we save: what matplotlib says of their letters goes to the model as a check, not to the output."""
_GLYPH = re.compile(r"Glyph (\d+) ")
_without_glyph: set[int] = set()
"""Code points that a figure of this cell needed and no font had."""


def prepare_matplotlib(fonts: list[str]) -> None:
    """Agg, our style, and the fonts at `fonts`. Called once, before anything is drawn."""
    mpl: Any = importlib.import_module("matplotlib")
    font_manager: Any = importlib.import_module("matplotlib.font_manager")
    figure_class: Any = importlib.import_module("matplotlib.figure").Figure

    mpl.use("Agg")
    for path in fonts:
        _add_font(font_manager, path)
    mpl.rcParams.update(STYLE)
    mpl.rcParams["axes.prop_cycle"] = mpl.cycler(color=_COLOURS)
    warnings.filterwarnings("ignore", message="FigureCanvasAgg is non-interactive")

    plain_savefig = figure_class.savefig

    def savefig(self: Any, fname: Any, *args: Any, **kwargs: Any) -> Any:
        missing: dict[int, Warning | str] = {}
        _clear_pictures(self)
        with warnings.catch_warnings():
            _note_missing_glyphs(missing)
            done = plain_savefig(self, fname, *args, **kwargs)
        _without_glyph.update(missing)
        for message in missing.values() if self not in _ours else ():
            warnings.warn(message, UserWarning, stacklevel=2)
        if isinstance(fname, (str, os.PathLike)):
            _saved[self] = os.fspath(fname)
            self.stale = False  # a tight frame moves the axes and back; what the cell changes from now on sets it again
        return done

    savefig.__doc__ = plain_savefig.__doc__
    figure_class.savefig = savefig


def _clear_pictures(figure: Any) -> None:
    """Take our grid away where it would run through a heatmap and its numbers, and that of a second axis: it has other
    lines, and they run over the bars. A grid that the cell asked for stays."""
    places: list[tuple[float, ...]] = []
    for axes in figure.axes:
        is_heatmap = axes.images or any(type(each).__name__ == "QuadMesh" for each in axes.collections)
        place = axes.get_position().bounds
        asked = any(line.get_color() != STYLE["grid.color"] for line in axes.get_xgridlines() + axes.get_ygridlines())
        if (is_heatmap or place in places) and not asked:
            axes.grid(visible=False)
        places.append(place)


_KNOWN_AS = [
    *("SimHei", "Microsoft YaHei", "PingFang SC", "Heiti SC", "Heiti TC", "STHeiti", "Songti SC", "Arial Unicode MS"),
    *("WenQuanYi Zen Hei", "WenQuanYi Micro Hei", "Source Han Sans SC", "Source Han Sans CN", "Noto Sans SC"),
    *("Noto Sans CJK JP", "Noto Sans JP", "Hiragino Sans", "Yu Gothic", "Meiryo", "MS Gothic", "IPAexGothic"),
    *("Noto Sans CJK KR", "Noto Sans KR", "Malgun Gothic", "NanumGothic", "AppleGothic"),
]
"""Fonts that code written elsewhere asks for when it means "one that has these letters"."""


def _add_font(font_manager: Any, path: str) -> None:
    """Make the font at `path` stand in for what people call its kin, and for letters that any other font lacks."""
    manager = font_manager.fontManager
    manager.addfont(path)
    entry = manager.ttflist[-1]
    installed = {other.name for other in manager.ttflist}
    manager.ttflist += [dataclasses.replace(entry, name=name) for name in _KNOWN_AS if name not in installed]
    # A style sheet replaces the whole list of families, ours included: every list gets this font as its last resort.
    manager_class = type(manager)
    plain_find = getattr(manager_class, "_find_fonts_by_props", None)
    if plain_find is not None:

        def find_fonts(self: Any, *args: Any, **kwargs: Any) -> list[str]:
            found = plain_find(self, *args, **kwargs)
            return found if path in found else [*found, path]

        manager_class._find_fonts_by_props = find_fonts
    # With that font, nobody needs a warning that a family is not installed.
    logging.getLogger("matplotlib.font_manager").setLevel(logging.ERROR)


def save_open_figures(folder: str) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Save and close every open figure into `folder`: names and data, and what could not be saved with the reason.

    A figure that the cell itself saved as a PNG in `folder`, and did not change since, is not written a second time.
    """
    plt = sys.modules.get("matplotlib.pyplot")
    names: list[dict[str, Any]] = []
    problems: list[dict[str, Any]] = []
    if plt is None:
        return names, problems
    for number in plt.get_fignums():
        figure = plt.figure(number)
        try:
            if len(names) >= _MAX_FIGURES:
                problems.append({"figure": int(number), "why": "too_many"})
            elif figure.axes or figure.texts:
                name = _already_saved(figure, folder) or _save(figure, folder)
                names.append({"name": name, "chart": _chart(figure)})
        except Exception as error:
            problems.append({"figure": int(number), "why": type(error).__name__})
            with contextlib.suppress(Exception):  # what it says belongs to what the cell printed
                print(f"figure {number} could not be drawn: {type(error).__name__}: {error}"[:500], file=sys.stderr)
        finally:
            plt.close(number)
    return names, problems


def _chart(figure: Any) -> list[dict[str, Any]]:
    with contextlib.suppress(Exception):  # an artist of the cell's own making may know none of this
        return describe_chart(figure)
    return []


def missing_glyphs() -> list[dict[str, Any]]:
    """The check of letters that charts lack since it was last asked: how many, and the first one's code point."""
    found, at = len(_without_glyph), min(_without_glyph, default=0)
    _without_glyph.clear()
    return [{"code": "glyphs", "names": [], "numbers": [found, at]}] if found else []


def _note_missing_glyphs(missing: dict[int, Warning | str]) -> None:
    """Take matplotlib's warnings of missing letters, whatever filters the cell has set, and pass on all others."""
    plain_show = warnings.showwarning

    def show(message: Warning | str, *args: Any, **kwargs: Any) -> None:
        if found := _GLYPH.match(str(message)):
            missing[int(found[1])] = message
        else:
            plain_show(message, *args, **kwargs)

    warnings.filterwarnings("always", message=_GLYPH.pattern)
    warnings.showwarning = show


def discard_open_figures() -> None:
    """Close what is open without drawing it."""
    _without_glyph.clear()
    plt = sys.modules.get("matplotlib.pyplot")
    if plt is not None:
        plt.close("all")


def _already_saved(figure: Any, folder: str) -> str | None:
    path = _saved.pop(figure, None)
    if path is None or figure.stale or not path.lower().endswith(".png"):
        return None
    whole = os.path.join(os.getcwd(), path)
    if os.path.dirname(os.path.realpath(whole)) == os.path.realpath(folder) and os.path.isfile(whole):
        return os.path.basename(whole)
    return None


def _save(figure: Any, folder: str) -> str:
    width, height = figure.get_size_inches()
    if max(width, height) > _MAX_SIDE_IN:
        raise ValueError(f"{width:.0f} x {height:.0f} inches is larger than {_MAX_SIDE_IN:.0f}")
    _even_weight(figure)
    _arrange(figure)
    name = _free_name(folder, _title(figure))
    _ours.add(figure)
    figure.savefig(os.path.join(folder, name), format="png", dpi=min(max(figure.dpi, 150), 200))
    _saved.pop(figure, None)
    return name


def _even_weight(figure: Any) -> None:
    """The font for Chinese and Japanese has no bold letters. A bold title would be half bold, so it is plain then."""
    text_class: Any = sys.modules["matplotlib.text"].Text
    for text in figure.findobj(text_class):
        if text.get_fontweight() == "bold" and any(char > "\u2e7f" for char in text.get_text()):
            text.set_fontweight("normal")


def _arrange(figure: Any) -> None:
    """Keep labels of neighbouring axes apart, unless the cell arranged them itself.

    Done here and not by a default layout engine: those warn, or raise, when a cell calls tight_layout or
    subplots_adjust.
    """
    defaults = sys.modules["matplotlib"].rcParams
    pars = figure.subplotpars
    untouched = all(
        getattr(pars, side) == defaults[f"figure.subplot.{side}"] for side in ("left", "right", "top", "bottom")
    )
    if figure.get_layout_engine() is None and untouched:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            figure.tight_layout()


def _title(figure: Any) -> str:
    candidates = [figure.get_suptitle()]
    candidates += [axes.get_title() or axes.get_title(loc="left") for axes in figure.axes[:1]]
    for text in candidates:
        clean = re.sub(r"[^\w]+", "-", text.lower()).strip("-_")[:60].strip("-_")
        if clean:
            return clean
    return ""


def _free_name(folder: str, title: str) -> str:
    stem, number = (title, 1) if title else ("figure", 1)
    while True:
        name = f"{stem}-{number}.png" if number > 1 or not title else f"{stem}.png"
        if not os.path.lexists(os.path.join(folder, name)):
            return name
        number += 1
