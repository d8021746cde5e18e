"""How sphinx builds the documentation: ``make docs``."""

import re
import shutil
import sys
from importlib.resources import files
from pathlib import Path

from sphinx_gallery.sorting import ExplicitOrder

DOCS = Path(__file__).resolve().parent
ROOT = DOCS.parent
sys.path.insert(0, str(ROOT / "src"))

import kernelfit  # noqa: E402

project = "kernelfit"
author = "the kernelfit developers"
copyright = author
version = release = kernelfit.__version__
language = "en"

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.mathjax",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
html_theme = "pydata_sphinx_theme"
html_title = "kernelfit"
# The one file of MathJax that needs no other: formulas show without the network.
mathjax_path = "tex-svg.js"
mathjax3_config = {"svg": {"scale": 0.9}}
html_static_path = [
    "_static",
    str(files("sphinx-mathjax-offline") / "static" / "mathjax" / mathjax_path),
]
html_show_sourcelink = False
html_theme_options = {
    "navigation_depth": 2,
    "show_toc_level": 2,
    "navbar_align": "left",
    "footer_start": ["copyright"],
    "footer_end": [],
}

myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 3
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "download_all_examples": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "write_computation_times": False,
    "copyfile_regex": r"",
    "within_subsection_order": ExplicitOrder(
        [
            "plot_autokernel.py",
            "plot_certificate.py",
            "plot_mkl_features.py",
            "plot_metric.py",
            "plot_intervals.py",
            "plot_cost_path.py",
            "plot_cluster_number.py",
            "plot_cluster_methods.py",
            "plot_cds_digits.py",
            "plot_cds_similarity.py",
            "plot_dank_figures_1_2.py",
            "plot_dank_figure_4.py",
            "plot_dank_figure_5.py",
            "plot_dank_figure_6.py",
            "plot_dank_figure_7.py",
            "plot_dank_figure_8.py",
            "plot_knpl_figure_2.py",
            "plot_knpl_figure_3.py",
            "plot_tkl_figures_1_2.py",
            "plot_tkl_figure_3.py",
            "plot_tkl_figure_4.py",
            "plot_cds_figure_1.py",
        ]
    ),
}

# Pages that live elsewhere in the repository, and are read there too.
ELSEWHERE = ("ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md")
COPIES = DOCS / "repository"


def copy_pages(app):
    """Copy the pages from outside this folder into it, where sphinx finds them."""
    shutil.rmtree(COPIES, ignore_errors=True)
    (COPIES / "results").mkdir(parents=True)
    for name in ELSEWHERE:
        shutil.copy(ROOT / name, COPIES / name)
    results = sorted((ROOT / "benchmarks" / "results").glob("*.md"))
    listed = "\n".join(page.stem for page in results)
    index = "# Measured tables\n\nAs `make bench` wrote them.\n\n"
    index += f"```{{toctree}}\n:maxdepth: 1\n\n{listed}\n```\n"
    (COPIES / "results" / "index.md").write_text(index, encoding="utf-8")
    for page in results:
        shutil.copy(page, COPIES / "results" / page.name)


def mend_links(app, name, source):
    """Point links between pages of the repository to their copies."""
    text = source[0]
    up = "../" * name.count("/")
    if name.startswith("repository/"):
        text = text.replace("```mermaid", "```text")
        text = re.sub(r"\]\(docs/", f"]({up}", text)
        text = re.sub(r"\]\(benchmarks/results\)", "](results/index.md)", text)
        text = re.sub(r"\]\(benchmarks/results/", "](results/", text)
    else:
        text = re.sub(
            r"\]\((?:\.\./)+benchmarks/results\)", f"]({up}repository/results/index.md)", text
        )
        text = re.sub(r"\]\((?:\.\./)+benchmarks/results/", f"]({up}repository/results/", text)
        for page in ELSEWHERE:
            text = re.sub(rf"\]\((?:\.\./)+{page}\)", f"]({up}repository/{page})", text)
    source[0] = text


def mend_docstrings(app, what, name, obj, options, lines):
    """Join types that go on in the next line, and keep `n_iter_` in them from being a link."""
    text = re.sub(r" ?\\\n +", " ", "\n".join(lines))
    types = re.compile(r"(?<= : ).*$", re.M)
    text = types.sub(lambda kind: re.sub(r"(?<=\w)_(?=\W)", r"\\_", kind[0]), text)
    lines[:] = text.split("\n")


def setup(app):
    """Register the steps above; the last one comes before numpydoc's."""
    app.connect("autodoc-process-docstring", mend_docstrings, priority=100)
    app.connect("builder-inited", copy_pages, priority=100)
    app.connect("source-read", mend_links)
