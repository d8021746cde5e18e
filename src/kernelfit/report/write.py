"""A report on a fitted estimator: chapters, rendered by one template into one file."""

import datetime
from importlib.resources import files
from pathlib import Path
from typing import Any

from kernelfit.inspection.headline import headline
from kernelfit.report.about_choice import choice_section, parameters_section
from kernelfit.report.about_data import data_section
from kernelfit.report.about_features import features_section
from kernelfit.report.about_kernel import kernel_section
from kernelfit.report.about_performance import performance_section
from kernelfit.report.about_points import points_section
from kernelfit.report.about_proof import proof_section
from kernelfit.report.blocks import Section
from kernelfit.report.subject import Subject
from kernelfit.report.table import n_rows
from kernelfit.utils.plotting import load_matplotlib
from kernelfit.utils.version import __version__


def write_report(
    est: Any,
    X: Any,
    y: Any,
    path: Any,
    X_test: Any = None,
    y_test: Any = None,
    title: str | None = None,
) -> Path:
    """Write a report on a fitted estimator into one HTML file.

    The file begins with the score on held-out rows, its interval and the baseline. It shows what
    was chosen and why, the certificate in words, the learned kernel and the initial one, what
    matters, the rows to look at, by the index of a frame, and the data. It contains its pictures
    and its style, asks the network for nothing, and reads well on a phone, on paper, in light and
    in dark. What does not apply is left out.

    Parameters
    ----------
    est : estimator
        Fitted: AutoKernel, any machine, search or clustering of kernelfit, or a pipeline that ends
        in one.
    X : array or frame of shape (n_samples, n_features)
        The training data.
    y : array-like of shape (n_samples,) or None
        The labels or targets; None for clusterings.
    path : str or Path
        Where to write.
    X_test, y_test : array or frame, and array-like, default=None
        Rows that training did not see.
    title : str, default=None
        The heading; made from the estimator's name when None.

    Returns
    -------
    Path
        The file.

    Notes
    -----
    Needs jinja2 and matplotlib: ``pip install "kernelfit[report]"``. It takes seconds, for
    AutoKernel about as long as the fit: the machines of the folds are trained to shuffle columns.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.datasets import make_moons
    >>> from kernelfit import KernelSVC
    >>> from kernelfit.report import write_report
    >>> X, y = make_moons(80, noise=0.2, random_state=0)
    >>> model = KernelSVC(C=10.0).fit(X[:60], y[:60])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = write_report(model, X[:60], y[:60], Path(folder) / "moons.html", X[60:], y[60:])
    ...     "</html>" in file.read_text(encoding="utf-8")
    True
    """
    file = Path(path)
    if not file.resolve().parent.is_dir():
        raise FileNotFoundError(
            f"expected a folder for {str(file)!r}, got {str(file.parent)!r}, which is none"
        )
    template = _template()
    load_matplotlib()  # complains before any work where it is missing
    subject = Subject.of(est, X, y, X_test, y_test)
    sections = [section for section in _sections(subject) if section is not None]
    page = template.render(
        title=title or f"{subject.name} on {n_rows(subject.X):,} rows",
        lead=_lead(subject),
        headline=_headline(subject),
        sections=sections,
        version=__version__,
        date=datetime.date.today().isoformat(),
    )
    file.write_text(page, encoding="utf-8")
    return file


def _sections(subject: Subject) -> list[Section | None]:
    choice = choice_section(subject)
    listed = choice.title == "What was fitted"  # with its parameters
    return [
        performance_section(subject),
        choice,
        proof_section(subject),
        kernel_section(subject),
        features_section(subject),
        points_section(subject),
        data_section(subject),
        None if listed else parameters_section(subject),
    ]


def _lead(subject: Subject) -> str:
    """Return one sentence on what this is."""
    verb = {
        "classification": f"tells {len(subject.classes)} classes apart",
        "regression": "predicts a number",
        "clustering": "finds groups without labels",
        "outliers": "tells odd rows from ordinary ones",
    }.get(subject.task, "learns from data")
    return f"{subject.name} of kernelfit, which {verb}."


def _headline(subject: Subject) -> list[tuple[str, str]]:
    """Return the lines at the top."""
    lines = headline(subject.facts, scored=subject.task in ("classification", "regression"))
    if subject.task == "clustering":
        lines.append(("clusters", str(len(set(subject.machine.labels_.tolist())))))
    return lines


def _template() -> Any:
    """Return the page's template; what it is given is escaped unless it is a picture."""
    try:
        import jinja2
    except ImportError as error:
        raise ImportError(
            "reports need jinja2, which is not installed: pip install 'kernelfit[report]'"
        ) from error
    folder = files("kernelfit.report")
    environment = jinja2.Environment(
        autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.globals["style"] = (folder / "style.css").read_text(encoding="utf-8")
    return environment.from_string((folder / "template.html").read_text(encoding="utf-8"))
