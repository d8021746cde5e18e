"""The reader as a transformer of scikit-learn, beside AutoKernel and in files."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array, random_array
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.estimator_checks import parametrize_with_checks

import kernelfit
from kernelfit.tables import TableReader, TableWarning

WORDS = "red green blue oak steel glass lamp chair table shelf".split()


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    n = 90
    return pd.DataFrame(
        {
            "price": [f"${v:,.2f}" for v in rng.lognormal(6.0, 1.0, n)],
            "sold": (pd.Timestamp("2022-01-03") + pd.to_timedelta(9 * np.arange(n), "D")).strftime(
                "%d.%m.%Y"
            ),
            "colour": rng.choice(["red", "blue", None], n),
            "note": [" ".join(rng.choice(WORDS, 5)) for _ in range(n)],
        }
    )


@pytest.fixture
def reader(frame):
    with pytest.warns(TableWarning, match="KF002: read as text: 'note'"):
        return TableReader().fit(frame)


@parametrize_with_checks([TableReader()])
def test_contract_of_scikit_learn(estimator, check):
    check(estimator)


def test_names_fit_the_features(frame, reader):
    names = reader.get_feature_names_out().tolist()
    Z = reader.transform(frame)
    assert Z.shape == (90, len(names)) == (90, len(set(names))) and np.isfinite(Z).all()
    assert names[:3] == ["price", "sold: elapsed", "sold: day of year, cos"]
    assert {"colour = blue", "colour = red", "colour = other"} < {*names}
    np.testing.assert_array_equal(Z[:, names.index("colour = red")], frame["colour"] == "red")
    wide = reader.set_output(transform="pandas").transform(frame)
    assert list(wide.columns) == names and wide.index.equals(frame.index)


def test_columns_are_a_frame(reader):
    found = reader.columns_
    assert found["name"].tolist() == ["price", "sold", "colour", "note"]
    assert found["kind"].tolist() == ["number", "date", "category", "text"]
    assert found["use"].iloc[0] == "number" and found["use"].iloc[2] == "2 categories"


def test_a_saved_reader_reads_the_same(frame, reader, tmp_path):
    again = kernelfit.load(kernelfit.save(reader, tmp_path / "reader"))
    np.testing.assert_array_equal(again.transform(frame), reader.transform(frame))
    assert again.columns_.equals(reader.columns_)


def test_other_models_take_it_in_a_pipeline(frame):
    y = frame["note"].str.contains("oak").to_numpy(float)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        model = make_pipeline(TableReader(), Ridge(1e-3)).fit(frame, y)
    assert model.score(frame, y) > 0.9


def test_autokernel_reads_the_same_columns(frame, reader):
    y = np.sqrt(np.arange(90.0))
    with pytest.warns(TableWarning, match="KF002"):
        model = kernelfit.AutoKernelRegressor(members=["gaussian (standard)"], cv=2, random_state=0)
        model.fit(frame, y)
    assert model.columns_.equals(reader.columns_)
    assert model.score(frame, y) > 0.9  # the date tells all
    assert len(model.feature_importances_) == 4
    assert np.argmax(model.feature_importances_) == 1


def test_kinds_can_be_told(frame):
    kinds = {"note": "drop", "price": "category", 1: "day first"}
    reader = TableReader(kinds).fit(frame)
    assert reader.columns_["kind"].tolist() == ["category", "date", "category", "drop"]
    assert not any(name.startswith("note") for name in reader.get_feature_names_out())


def test_sparse_outputs_of_scikit_learn_are_read(frame):
    front = make_column_transformer(
        (TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4)), "note"),
        (OneHotEncoder(), ["colour"]), sparse_threshold=1.0,
    )  # fmt: skip
    y = frame["note"].str.contains("oak").to_numpy(float)
    model = make_pipeline(
        front, kernelfit.AutoKernelRegressor(members=["gaussian (standard)"], random_state=0)
    ).fit(frame[:60], y[:60])
    assert model.score(frame[60:], y[60:]) > 0.5
    assert not hasattr(model[-1], "feature_importances_")
    few = OneHotEncoder().fit_transform(frame[["colour"]])
    expected = TableReader().fit_transform(few.toarray())
    np.testing.assert_array_equal(TableReader().fit_transform(few), expected)


def test_wide_sparse_matrices_keep_their_distances():
    rng = np.random.default_rng(0)
    patterns = random_array((6, 5000), density=0.01, rng=rng).tocsr()
    X = csr_array(rng.normal(size=(40, 6))) @ patterns
    Z = TableReader().fit_transform(X)
    A, B = (one - one.mean(axis=0) for one in (X.toarray(), Z))
    unit = 2.0 / A.var(axis=0).sum()
    np.testing.assert_allclose(B @ B.T, unit * A @ A.T, atol=1e-9)


@pytest.mark.parametrize("as_frame", [True, False])
def test_rows_of_no_weight_are_not_read(frame, as_frame):
    weight = np.where(np.arange(90) < 80, 1.0, 0.0)
    X = frame if as_frame else frame.to_numpy(dtype=object)
    some = X.iloc[:80] if as_frame else X[:80]
    y = np.sqrt(np.arange(90.0))
    model = kernelfit.AutoKernelRegressor(members=["gaussian (standard)"], cv=2, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TableWarning)
        weighted = model.fit(X, y, weight).predict(some)
        np.testing.assert_array_equal(weighted, model.fit(some, y[:80]).predict(some))


@pytest.mark.filterwarnings("ignore:KF00")
def test_notebooks_show_what_columns_became(frame):
    """The frame of `columns_`, with names escaped, behind the picture of the estimator."""
    pytest.importorskip("sklearn", "1.7")
    reader = TableReader()
    plain = reader._repr_mimebundle_()["text/html"]
    assert "<th>use</th>" not in plain
    reader.fit(frame.rename(columns={"price": "<price>"}))
    html = reader._repr_mimebundle_()["text/html"]
    assert html.endswith(reader.columns_.to_html(index=False))
    assert "&lt;price&gt;" in html and "<price>" not in html
    machine = kernelfit.AutoKernelRegressor(members=["gaussian"])
    assert "<th>use</th>" not in machine._repr_mimebundle_()["text/html"]
    machine.fit(frame, np.arange(len(frame)))
    assert "<th>use</th>" in machine._repr_mimebundle_()["text/html"]
    assert "<th>use</th>" in machine._repr_html_()
