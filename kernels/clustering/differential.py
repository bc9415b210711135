"""Nearest neighbors and starting points of k-means."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

_POINTS = lambda n, d=3: V((n, d), F32, (-5, 5))
row("NearestNeighbors", 4096, plain(*[{"points": _POINTS(n), "centers": _POINTS(m), "k": Fed(k, I64)}
                                      for n, m, k in [(5, 4, 1), (5, 4, 2), (3, 4, 9), (2, 1500, 3), (2, 1500, 1), (3, 3, 0), (3, 0, 2), (0, 3, 1)]],
                                    {"points": _POINTS(2), "centers": _POINTS(2, 4), "k": Fed(1, I64)},
                                    {"points": V((2,), F32), "centers": _POINTS(2), "k": Fed(1, I64)},
                                    {"points": _POINTS(2), "centers": _POINTS(2), "k": Fed([1], I64)}))
row("KmeansPlusPlusInitialization", 0, plain(*[{"points": _POINTS(n), "num_to_sample": Fed(k, I64), "seed": Fed(seed, I64), "num_retries_per_sample": Fed(r, I64)}
                                               for n, k, seed, r in [(9, 3, 7, 0), (9, 3, 7, 2), (40, 10, 123456789012, -1), (4, 4, 1, 0), (4, 5, 1, 0), (0, 1, 1, 0), (3, 0, 1, 0)]],
                                             {"points": V((3,), F32), "num_to_sample": Fed(1, I64), "seed": Fed(1, I64), "num_retries_per_sample": Fed(1, I64)}))
row("KMC2ChainInitialization", 0, plain(*[{"distances": V((n,), F32, (0, 5)), "seed": Fed(seed, I64)} for n, seed in [(1, 1), (9, 2), (300, 3), (0, 1)]],
                                        {"distances": V((2, 2), F32), "seed": Fed(1, I64)}))
