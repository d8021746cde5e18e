import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from kernelfit.utils.threads import one_blas_thread


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


def test_the_limit_holds_inside_and_ends_with_the_block():
    np.ones((2, 2)) @ np.ones((2, 2))
    with threadpool_limits(2, user_api="blas"):
        if blas_threads() != {2}:
            pytest.skip("this BLAS does not take a number of threads")
        with one_blas_thread():
            assert blas_threads() == {1}
            with one_blas_thread():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == {2}
        with pytest.raises(RuntimeError), one_blas_thread():
            raise RuntimeError
        assert blas_threads() == {2}
