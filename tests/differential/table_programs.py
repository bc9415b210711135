"""Ops that whole programs brought up."""
from table import *

SEEDS = {"seed": 3, "seed2": 4}
TRUE_CLASSES = Fed([[1, 2], [0, 7]], I64)
WEIGHTS = [float(1 + i * i % 7) for i in range(12)]
row("FixedUnigramCandidateSampler", 8, plain(*[
    {"true_classes": TRUE_CLASSES, "num_true": 2, "num_sampled": n, "unique": u, "range_max": 12, "unigrams": WEIGHTS,
     "distortion": d, **SEEDS} for n in (5, 12, 25) for u in (False, True) for d in (1.0, 0.75)], *[
    {"true_classes": TRUE_CLASSES, "num_true": 2, "num_sampled": 4, "unique": False, "unigrams": WEIGHTS, **SEEDS, **more}
    for more in ({"range_max": 15, "num_reserved_ids": 3}, {"range_max": 13, "num_reserved_ids": 3},
                 {"range_max": 8, "num_reserved_ids": 4, "num_shards": 2, "shard": 1}, {"range_max": 12, "shard": 3})]))
