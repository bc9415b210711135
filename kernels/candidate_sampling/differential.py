"""Samplers of candidate classes."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

SEEDS = {"seed": 3, "seed2": 4}
row("UniformCandidateSampler LogUniformCandidateSampler", 8, plain(*[
    {"true_classes": Fed([[1, 2], [0, 7]], I64), "num_true": 2, "num_sampled": n, "unique": u, "range_max": 20, **SEEDS}
    for n in (5, 15, 25) for u in (False, True)]))
row("AllCandidateSampler", 0, plain({"true_classes": Fed([[1, 2], [0, 7]], I64), "num_true": 2, "num_sampled": 9, "unique": True}))
row("ComputeAccidentalHits", 0, plain({"true_classes": Fed([[1, 2], [0, 7]], I64), "sampled_candidates": Fed([7, 1, 5, 1], I64), "num_true": 2},
                                      {"true_classes": Fed([[1], [2]], I64), "sampled_candidates": Fed([7], I64), "num_true": 2}))
TRUE_CLASSES = Fed([[1, 2], [0, 7]], I64)
WEIGHTS = [float(1 + i * i % 7) for i in range(12)]
row("FixedUnigramCandidateSampler", 8, plain(*[
    {"true_classes": TRUE_CLASSES, "num_true": 2, "num_sampled": n, "unique": u, "range_max": 12, "unigrams": WEIGHTS,
     "distortion": d, **SEEDS} for n in (5, 12, 25) for u in (False, True) for d in (1.0, 0.75)], *[
    {"true_classes": TRUE_CLASSES, "num_true": 2, "num_sampled": 4, "unique": False, "unigrams": WEIGHTS, **SEEDS, **more}
    for more in ({"range_max": 15, "num_reserved_ids": 3}, {"range_max": 13, "num_reserved_ids": 3},
                 {"range_max": 8, "num_reserved_ids": 4, "num_shards": 2, "shard": 1}, {"range_max": 12, "shard": 3})]))
row("LearnedUnigramCandidateSampler ThreadUnsafeUnigramCandidateSampler", 8, plain(*[
    {"true_classes": Fed([[0, 3], [1, 1]], I64), "num_true": 2, "num_sampled": n, "unique": u, "range_max": 5, "seed": 3, "seed2": 4} for n, u in ((4, True), (9, False), (6, True))]))
