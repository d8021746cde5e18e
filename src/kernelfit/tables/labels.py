"""Columns of many labels that share words, such as job titles: categories, and text beside."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from kernelfit.tables.categories import CategoryReader
from kernelfit.tables.frames import Column
from kernelfit.tables.text import TextReader


@dataclass(frozen=True)
class LabelReader:
    """Reads one column as categories and as text.

    Attributes
    ----------
    category : CategoryReader
    text : TextReader
    note : str
    """

    category: CategoryReader
    text: TextReader
    note: str = ""

    kind: ClassVar[str] = "label"

    @property
    def roles(self) -> tuple[int, ...]:
        """Roles of the parsed features."""
        return self.category.roles + self.text.roles

    @property
    def suffixes(self) -> tuple[str, ...]:
        """Names of the parsed features, behind that of the column."""
        return self.category.suffixes + self.text.suffixes

    def read(self, column: Column) -> NDArray[np.float64]:
        """Return the number of the category and the places of the text, of shape (n, 1 + k)."""
        return np.hstack([self.category.read(column), self.text.read(column)])
