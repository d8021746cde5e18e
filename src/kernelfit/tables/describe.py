"""What a plan made of each column, as a table."""

from importlib.util import find_spec
from typing import Any

import narwhals as nw
from sklearn.utils.validation import check_is_fitted

from kernelfit.tables.plan import Plan
from kernelfit.tables.roles import CATEGORY, CIRCLE, NUMBER

_NOT_USED = ("constant", "empty")  # read, so that what is wrong is told, and left out by views


class ReadsColumns:
    """Mixin of estimators that read tables by a `_plan`: what each column became."""

    _plan: Plan

    @property
    def columns_(self) -> Any:
        """What each column became, and how it is used."""
        check_is_fitted(self)
        return describe_columns(self._plan)

    def _html_repr(self) -> str:
        """Return what notebooks show, of scikit-learn 1.7 on: the parameters, then the columns."""
        shown: str = super()._html_repr()  # type: ignore[misc]
        known = hasattr(self, "_plan") and hasattr(self.columns_, "to_html")
        return shown + (self.columns_.to_html(index=False) if known else "")


def describe_columns(plan: Plan) -> Any:
    """Return what a plan made of each column, as a frame, or a dict of lists without pandas."""
    columns: dict[str, list[Any]] = {
        "name": list(plan.names),
        "kind": [reader.kind for reader in plan.readers],
        "use": [_use(reader) for reader in plan.readers],
        "n_features": [
            0 if reader.kind in _NOT_USED else len(reader.roles) for reader in plan.readers
        ],
        "missing": list(plan.missing),
        "note": [reader.note for reader in plan.readers],
    }
    if find_spec("pandas") is None:
        return columns
    return nw.from_dict(columns, backend="pandas").to_native()


def _use(reader: Any) -> str:
    """Return how a column is used, in a few words."""
    if not reader.roles or reader.kind in _NOT_USED:
        return "not used"
    n_texts = sum(role > CIRCLE for role in reader.roles)
    words = [suffix for suffix in reader.suffixes if suffix and not suffix.startswith("direction ")]
    if CATEGORY in reader.roles:
        words.append(f"{len(getattr(reader, 'category', reader).values)} categories")
    if n_texts:
        words.append(f"{n_texts} directions")
    if not words or (reader.suffixes[0] == "" and reader.roles[0] == NUMBER):
        words.insert(0, "number")
    return ", ".join(words)
