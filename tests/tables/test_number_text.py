"""Numbers in disguise."""

import numpy as np
import pytest

from kernelfit.tables.number_text import find_number_format, number_in


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$4,312", "$ -5", "-$1,000.5", "n/a"], [4312, -5, -1000.5, np.nan]),
        (["1.234,56", "7", "-0,5"], [1234.56, 7, -0.5]),
        (["1,234", "12,345,678"], [1234, 12345678]),
        (["1,5", "2,25"], [1.5, 2.25]),
        (["0,123", "1,234"], [0.123, 1.234]),
        (["1 234,5", "12 345,0"], [1234.5, 12345]),
        (["1'234.5", "7'000"], [1234.5, 7000]),
        (["CHF 5", "CHF 1.5"], [5, 1.5]),
        (["12 %", "7.5%"], [12, 7.5]),
        (["5 years", "1 year"], [5, 1]),
        (["3.2 kg", "10 kg"], [3.2, 10]),
        (["<5", ">=100", "7"], [5, 100, 7]),
        (["1e5", "2.5E-3 V"], None),
        (["1e5 V", "2.5E-3 V"], [1e5, 2.5e-3]),
        (["1.2M", "300K", "5"], [1.2e6, 3e5, 5]),
        (["\u22125 °C", "7 °C"], [-5, 7]),
        (["(1,200)", "3"], [-1200, 3]),
        (["3 kg", "500 g"], None),
        (["$3", "3 €"], None),
        (["12:30", "13:40"], None),
        (["3 pm", "4 am"], None),
        (["1,23,4", "5"], None),
        (["A12", "B7"], None),
        (["01067", "1,000"], None),
        (["10-20", "30-40"], None),
        (["(5", "7"], None),
        (["-", "n/a"], None),
    ],
)
def test_formats(texts, numbers):
    found = find_number_format(texts)
    assert (found is None) == (numbers is None)
    if found is not None:
        np.testing.assert_allclose([found(text) for text in texts], numbers, rtol=1e-15)


def test_a_format_refuses_other_units():
    found = find_number_format(["3.2 kg", "10 kg"])
    assert found("5 lb") is None and found("heavy") is None
    assert found(7) == 7.0 and found("7") == 7.0 and np.isnan(found("n/a"))


def test_decimal_commas_are_no_thousands():
    found = find_number_format(["1,5", "1.234,5"])
    assert found("1,234") == 1.234 and found("1.234") == 1234.0


def test_plain_numbers():
    assert number_in(" 1e5 ") == 1e5 and number_in(True) == 1.0
    assert number_in("1_000") is None and number_in("red") is None
    assert np.isnan(number_in("N/A")) and np.isnan(number_in(None))
