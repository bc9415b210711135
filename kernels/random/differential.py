"""Random numbers: stateful, stateless, and generators in variables."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("RandomShuffle", 0, each(lambda t: {"value": V((9, 2), t), "seed": 5, "seed2": 6}, lambda t: {"value": V((), t), "seed": 5},
                             lambda t: {"value": V((30,), t), "seed": 1, "seed2": 2}))


def generators(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="generator")
    read = lambda: raw.ReadVariableOp(resource=state, dtype=I64)
    steps = [raw.AssignVariableOp(resource=state, value=np.array([5, 6, 7]))]
    for name in ("StatefulStandardNormalV2", "StatefulTruncatedNormal", "StatefulUniform"):
        steps += [getattr(raw, name)(resource=state, algorithm=np.int64(1), shape=[4, 3], dtype=t), read()]
    return steps + [raw.RngSkip(resource=state, algorithm=np.int64(1), delta=np.int64(9)), read(),
                    raw.RngReadAndSkip(resource=state, alg=np.int32(1), delta=np.uint64(2)), read(),
                    raw.RngSkip(resource=state, algorithm=np.int64(9), delta=np.int64(9)),
                    raw.StatefulUniform(resource=state, algorithm=np.int64(2), shape=[1], dtype=t)]


program("StatefulStandardNormalV2 StatefulTruncatedNormal StatefulUniform RngSkip RngReadAndSkip", 4, generators, FLOATS)


def integer_generators(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="integer generator")
    return [raw.AssignVariableOp(resource=state, value=np.array([5, 6, 7])),
            raw.StatefulUniformFullInt(resource=state, algorithm=np.int64(1), shape=[7], dtype=t),
            raw.StatefulUniformInt(resource=state, algorithm=np.int64(1), shape=[7], minval=tf.constant(-3, I64),
                                   maxval=tf.constant(40, I64)),
            raw.StatefulUniformInt(resource=state, algorithm=np.int64(1), shape=[7], minval=tf.constant(40, I64),
                                   maxval=tf.constant(40, I64))]


program("StatefulUniformFullInt StatefulUniformInt", 0, integer_generators, [I32, I64, U32, U64])
known("StatelessParameterizedTruncatedNormal", "gradient of", "TensorFlow leaves out that the bounds stay where they are when the mean and the deviation move")
row("StatelessParameterizedTruncatedNormal", 0, each(*[
    lambda t, m=m, d=d, a=a, b=b: {"shape": ids(30, 3), "seed": ids(5, 6), "means": Fed(m, t), "stddevs": Fed(d, t), "minvals": Fed(a, t), "maxvals": Fed(b, t)}
    for m, d, a, b in [(0, 1, -2, 2), (0, 1, 1, 1.2), (0, 1, 2, 9), ([0, 1, 2], 1, -1, [1, 2, 3]), (0, 1, 2, 1), ([0, 1], 1, -1, 1)]]))


def binomials(t):
    state = raw.VarHandleOp(dtype=I64, shape=[3], shared_name="binomial generator")
    read = lambda: raw.ReadVariableOp(resource=state, dtype=I64)
    # A value that is computed: TensorFlow loses the first draw's step where the variable shares its memory with a constant.
    steps = [raw.AssignVariableOp(resource=state, value=tf.reverse(fed(Fed([7, 6, 5], I64)), [0]))]
    for counts, probs, shape in [(7, 0.5, [3]), ([40, 90], [[0.5], [0.25]], [3, 2, 2]), ([], [], [0]), (-1, 0.5, [2])]:
        steps += [raw.StatefulRandomBinomial(resource=state, algorithm=np.int64(1), shape=shape, counts=tf.constant(counts, t),
                                             probs=tf.constant(probs, t), dtype=I64), read()]
    return steps + [raw.StatefulRandomBinomial(resource=state, algorithm=np.int64(1), shape=[3], counts=tf.constant([1, 2], t),
                                               probs=tf.constant(0.5, t), dtype=I64)]


program("StatefulRandomBinomial", 0, binomials, [F32, F64])
row("StatelessRandomUniform StatelessRandomNormal StatelessTruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I32), "seed": ids(3, 4), "dtype": t} for s in ([], [0], [7], [30, 40])], types=FLOATS))
row("RandomUniform RandomStandardNormal TruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I32), "dtype": t, "seed": 3, "seed2": 4} for s in ([], [0], [7], [30, 40])], types=FLOATS))
row("RandomUniform RandomStandardNormal TruncatedNormal", 8, each(*[
    lambda t, s=s: {"shape": Fed(s, I64), "dtype": t, "seed": 87654321, "seed2": 1} for s in ([3, 5], [-1], [[2]])], types=FLOATS))
row("RandomUniformInt", 0, each(lambda t: {"shape": ids(50), "minval": Fed(-3, t), "maxval": Fed(90, t), "seed": 3, "seed2": 4},
                                types=[I32, I64]))
row("Multinomial", 0, each(*[lambda t, s=s, n=n, o=o: {"logits": V(s, t), "num_samples": Fed(n, I32), "seed": 3, "seed2": 4, "output_dtype": o}
                             for s, n, o in [((2, 5), 7, I64), ((3, 4), 0, I32), ((2, 0), 3, I64), ((0, 3), 3, I64), ((5,), 3, I64), ((2, 3), -1, I64)]]))
row("StatelessMultinomial", 0, each(*[lambda t, s=s, n=n: {"logits": V(s, t), "num_samples": Fed(n, I32), "seed": ids(3, 4)}
                                      for s, n in [((2, 5), 7), ((3, 4), 0), ((2, 0), 3), ((5,), 3), ((2, 3), -1)]]))
row("StatelessRandomGetAlg", 0, plain({}))
row("StatelessRandomGetKeyCounter StatelessRandomGetKeyCounterAlg", 0, lambda: (
    {"seed": Fed(s, t)} for t in (I32, I64) for s in ([3, 4], [-1, 7], [1], [[1, 2]])))
row("StatelessRandomUniformV2 StatelessRandomNormalV2 StatelessTruncatedNormalV2", 8, each(*[
    lambda t, s=s, k=k, c=c, a=a: {"shape": Fed(s, I32), "key": Fed(k, U64), "counter": Fed(c, U64), "alg": Fed(a, I32), "dtype": t}
    for s, k, c, a in [([30, 40], [5], [6, 7], 1), ([3], [5], [6], 2), ([3], [5], [6, 7], 3), ([3], [5], [6, 7], 9), ([-1], [5], [6, 7], 1),
                       ([3], [5, 5], [6, 7], 1), ([3], [5], [6], 1), ([], [5], [6, 7], 1)]], types=FLOATS))
for _name in ("StatelessRandomUniformV2", "StatelessRandomNormalV2", "StatelessTruncatedNormalV2"):
    known(_name, "counter must be a vector", "TensorFlow reads beyond the counter")
row("StatelessRandomUniformFullIntV2", 0, each(*[
    lambda t, s=s, a=a: {"shape": Fed(s, I32), "key": Fed([5], U64), "counter": Fed([6, 7], U64), "alg": Fed(a, I32), "dtype": t}
    for s, a in [([30], 1), ([3], 3), ([0], 1)]], types=[I32, I64, U32, U64]))
row("StatelessRandomUniformFullInt", 0, each(*[lambda t, s=s: {"shape": Fed(s, I32), "seed": ids(3, 4), "dtype": t}
                                               for s in ([30], [], [0], [-2])], types=[I32, I64, U32, U64]))
row("StatelessRandomUniformInt", 0, each(*[lambda t, a=a, b=b: {"shape": ids(40), "seed": ids(3, 4), "minval": Fed(a, t), "maxval": Fed(b, t)}
                                           for a, b in [(-3, 90), (5, 5), (7, 2), (0, 1)]], types=[I32, I64]))
row("StatelessRandomUniformIntV2", 0, each(*[
    lambda t, a=a, b=b: {"shape": ids(40), "key": Fed([5], U64), "counter": Fed([6, 7], U64), "alg": 1, "minval": Fed(a, t), "maxval": Fed(b, t)}
    for a, b in [(3, 90), (5, 5), (7, 2), (0, 1)]], types=[I32, I64, U32, U64]))
row("RandomGammaGrad", 4096, binary([F32, F64], (0.5, 9), args=("alpha", "sample"), pairs=SAME))
SEEDS = {"seed": 3, "seed2": 4}
row("RandomGamma", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "alpha": Fed(a, t), **SEEDS}
                             for s, a in [([40], [0.3, 1, 2.5]), ([2, 3], 7.0), ([0], [1.0]), ([2], [])]]))
row("StatelessRandomGammaV2", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "seed": ids(5, 6), "alpha": Fed(a, t)}
                                        for s, a in [([40, 3], [0.3, 1, 2.5]), ([50], 7.0), ([0, 1], [1.0]), ([2], [1.0, 2, 3])]]))
row("StatelessRandomGammaV3", 0, each(lambda t: {"shape": ids(40, 3), "key": Fed([7], U64), "counter": Fed([8, 9], U64), "alg": Fed(1, I32),
                                                 "alpha": Fed([0.3, 1, 2.5], t)}))
row("RandomPoissonV2", 0, each(*[lambda t, s=s, a=a, o=o: {"shape": Fed(s, I32), "rate": Fed(a, t), "dtype": o, **SEEDS}
                                 for s, a in [([40], [0.3, 4, 25]), ([2, 3], 1000), ([0], [1])] for o in (F32, F64, I32, I64, HALF)]))
# TensorFlow does not return for a rate that is NaN, so there is no such case.
row("RandomPoissonV2", 0, plain(*[{"shape": Fed([3], I32), "rate": Fed(r, t), "dtype": d, **SEEDS} for r in ([np.inf], -np.inf, [-1], [0], []) for t, d in ((F32, F32), (F64, F64))],
                                *[{"shape": Fed([3], I32), "rate": Fed([np.inf, 0], t), "dtype": d, **SEEDS} for t, d in ((F32, I32), (HALF, I64), (BF16, HALF))],
                                *[{"shape": Fed(s, I32), "rate": Fed([1], F32), "dtype": F32, **SEEDS} for s in ([1 << 30] * 3, [1 << 30, 1 << 30], [-1], [0, 1 << 30], [0, 1 << 30, 1 << 30, 1 << 30])]))
row("StatelessRandomPoisson", 0, plain(*[{"shape": Fed([2, 1], I32), "seed": ids(5, 6), "lam": Fed([r], F64), "dtype": t} for r in (np.inf, -np.inf) for t in (F32, F64, I32, I64)],
                                       *[{"shape": Fed(s, I32), "seed": ids(5, 6), "lam": Fed([1], F32), "dtype": F32} for s in ([1 << 30, 1 << 30, 1], [1 << 30] * 3 + [1], [0, 1])]))
row("StatelessRandomPoisson", 0, each(*[lambda t, s=s, a=a: {"shape": Fed(s, I32), "seed": ids(5, 6), "lam": Fed(a, t), "dtype": I64}
                                        for s, a in [([40, 3], [0.3, 4, 25]), ([20], 1000), ([2], [1, 2, 3])]]))
INF = np.inf
row("StatelessRandomPoisson", 0, plain(*[
    {"shape": Fed([2], I32), "seed": Fed([1, 2], I64), "lam": Fed(r, F32), "dtype": t} for r in (-1, INF, 0) for t in (I32, I64, F32, F64, HALF)]))
row("StatelessRandomBinomial", 0, each(*[
    lambda t, s=s, c=c, p=p: {"shape": Fed(s, I32), "seed": ids(5, 6), "counts": Fed(c, t), "probs": Fed(p, t), "dtype": F64}
    for s, c, p in [([40, 3], [5, 50, 500], [0.3, 0.5, 0.9]), ([20, 3], 100, [0.01, 0.99, 0.4]), ([2], [1, 2, 3], 0.5)]], types=[F32, F64, HALF]))
row("ParameterizedTruncatedNormal", 0, each(*[
    lambda t, m=m, d=d, a=a, b=b: {"shape": ids(3, 50), "means": Fed(m, t), "stdevs": Fed(d, t), "minvals": Fed(a, t), "maxvals": Fed(b, t), **SEEDS}
    for m, d, a, b in [(0, 1, -2, 2), (0, 1, 1, 1.2), (0, 1, 2, 9), (1, 2, -9, -3), ([0, 1, 2], 1, -1, [1, 2, 3]), (0, 1, 2, 1), (0, -1, 0, 1)]]))
row("StatelessShuffle", 0, each(*[lambda t, s=s: {"value": V(s, t), "key": Fed([7], U64), "counter": Fed([8, 9], U64), "alg": Fed(1, I32)}
                                  for s in ((9,), (20, 3), (), (0, 2))]))
row("RandomIndexShuffle", 0, each(*[lambda t, i=i, m=m: {"index": Fed(i, t), "seed": ids(3, 4, 5), "max_index": Fed(m, t)}
                                    for i, m in [(5, 17), ([0, 1, 2, 3], 3), (100, 100000), (0, 0)]], types=[I32, I64, U32, U64]))
row("SobolSample", 0, each(*[lambda t, d=d, n=n, s=s: {"dim": Fed(d, I32), "num_results": Fed(n, I32), "skip": Fed(s, I32), "dtype": t}
                             for d, n, s in [(1, 9, 0), (5, 20, 0), (5, 20, 7), (1111, 40, 3), (40, 9, 100000), (3, 3, (1 << 29) - 2),
                                             (0, 3, 0), (3, 0, 0), (3, -1, 0), (3, 2, -1), ([3], 2, 0), (3, [2], 0), (3, 2, [0]),
                                             (3, 2, (1 << 31) - 2)]]))
row("RandomIndexShuffle", WORDS, plain(*[{"index": Fed(i, I64), "seed": Fed([1, 2, 3], U32), "max_index": Fed(m, I64), "rounds": 4} for i, m in [
    (6, 5), (-1, 5), (0, -1), (1, 0), ([0, 9], 5), ([0, -9], 5)]]))
