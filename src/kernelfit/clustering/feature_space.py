"""What clusterings in the feature space of a kernel share: the kernel, and the start."""

from numbers import Integral
from typing import ClassVar

from kernelfit.clustering.base import BaseClustering
from kernelfit.clustering.hartigan import move_single_points
from kernelfit.clustering.lloyd import kernel_kmeans, resolution, spread_start
from kernelfit.clustering.ties import first_least
from kernelfit.utils.sklearn_private import Interval, StrOptions


class BaseFeatureSpaceClustering(BaseClustering):
    """Base of the clusterings that take a kernel of any sign and start from kernel k-means."""

    _parameter_constraints: ClassVar[dict] = {
        **BaseClustering._parameter_constraints,
        "affinity": [StrOptions({"rbf", "self_tuning", "precomputed"}), callable],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
    }
    _negative_allowed = True
    _relative = False  # points have norms, to which a factor of a row would matter

    def _best_means(self, K, n_clusters, rng, multiply, max_iter=100, report=None):
        """Return the kernel k-means of the least inertia from `n_init` starts.

        Each goes on by Lloyd's iteration and, once that lowers nothing, by single moves.
        """
        counts = self._rows.counts
        shared = {"counts": counts, "multiply": multiply, "same": resolution(K)}
        results = []
        for start in range(1, self.n_init + 1):
            labels = spread_start(K, n_clusters, rng.uniform(size=n_clusters), counts)
            result = kernel_kmeans(K, labels, n_clusters, max_iter, **shared)
            result = move_single_points(K, result, max_iter, **shared)
            results.append(result)
            if report is not None:
                report(start, result.inertia, result.n_iter)
        return results[first_least([result.inertia for result in results])]
