"""Conversions between types."""
from tensorflow.python.framework import op_def_library

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Bitcast", 0, lambda: ({"input": V((2, 4), a), "type": b} for a in [F32, I32, I64, U8] for b in [I32, U8, F64, HALF]))
row("Cast", 0, plain(*[{"x": Fed([-3.7, 0, 1.5, 30], F32), "DstT": t} for t in (tf.qint8, tf.quint8, tf.qint16, tf.quint16, tf.qint32)]))
row("Cast", 0, lambda: ({"x": V((9,), a, (0, 9)), "DstT": b} for a in ALL[:-1] for b in ALL[:-1]))
# Beyond the range of integers. As one element and as many: what does not fill a vector may take another path.
BEYOND = [-1, -1.5, -128, -129, 127, 128, 255, 256, 300, -300, 32767, 32768, -32768, -32769, 65504, -65504, 65535, 65536, 70000, 2.0 ** 31 - 1, 2.0 ** 31, -2.0 ** 31, -2.0 ** 31 - 1, -2.0 ** 31 - 512,
          2.0 ** 32 - 1, 2.0 ** 32, 2.0 ** 32 + 512, 3e9, -3e9, 2.0 ** 33, 1e10, -1e10, 2.0 ** 63, -2.0 ** 63, 2.0 ** 63 + 4096, -2.0 ** 63 - 4096, 2.0 ** 64, 1.5 * 2.0 ** 63, 1e20, -1e20, 1e30, -1e30, np.inf, -np.inf, np.nan]
with np.errstate(all="ignore"):
    for _t in FLOATS + COMPLEX:
        _beyond = np.array(BEYOND).astype(_t.as_numpy_dtype)
        row("Cast", 0, each(*[lambda t, to=to, x=x: {"x": Fed(x, t), "DstT": to} for to in INTEGERS for x in [_beyond] + [np.array([v]) for v in _beyond]], types=[_t]))
FLOAT8 = [tf.dtypes.experimental.float8_e5m2, tf.dtypes.experimental.float8_e4m3fn]
for _t in FLOAT8:  # what infinity is as an unsigned number of 32 or 64 bits depends on the instruction
    row("Cast", 0, each(*[lambda t, to=to: {"x": Fed(np.arange(124 if to in (U32, U64) else 256, dtype=np.uint8).view(t.as_numpy_dtype), t), "DstT": to}
                          for to in ALL[:-1] + FLOAT8], types=[_t]))
# Halves between neighbours, the ends of the range, what is smaller than the least number.
ROUNDED = [sign * x for sign in (1, -1) for x in (0, 1, 1.0625, 1.1, 1.125, 1.1875, 240, 448, 449, 464, 465, 480, 57344, 61439, 61440, 61441, 7e4, 2.0 ** -6, 2.0 ** -9, 2.0 ** -10,
                                                  1.01 * 2.0 ** -10, 2.0 ** -14, 2.0 ** -16, 2.0 ** -17, 1.01 * 2.0 ** -17, 1e-30, 1e30, 1e-310, np.inf, np.nan)]
row("Cast", 0, each(*[lambda t, to=to: {"x": x, "DstT": to} for to in FLOAT8 for x in (Fed(ROUNDED, F64), Fed(1 + 2.0 ** -4 + 2.0 ** -40, F64))], types=[F64]),
    each(*[lambda t, to=to: {"x": Fed(np.array(ROUNDED).astype(t.as_numpy_dtype), t), "DstT": to} for to in FLOAT8], types=[F32, HALF, BF16]),
    each(*[lambda t, to=to: {"x": V((3,), t), "DstT": to} for to in FLOAT8], types=[I32, BOOL]))


def rounded_by_chance(t):
    """The client has no function for this op."""
    values = np.concatenate([np.random.RandomState(5).uniform(-100, 100, 71), [3, -4, 0, np.inf, -np.inf, np.nan, 126.5, -127.5, 200, 40000, -40000, 3e9, -3e9]])
    steps = []
    for n in (len(values), 1, 8, 13, 16, 0):
        for key, counter, algorithm in (((12345678901,), (77, 88), 1), ((3,), (1 << 60, 5, 6), 3), ((3,), (1, 2), 2), ((3,), (1, 2), 9), ((3, 4), (1, 2), 1), ((3,), ((1, 2),), 1), ((3,), (1, 2), [1])):
            for to in (tf.int8, tf.int16, I32):
                steps.append([op_def_library.apply_op("StochasticCastToInt", input=fed(values[:n], t), key=fed(np.array(key), tf.uint64), counter=fed(np.array(counter), tf.uint64),
                                                      alg=fed(np.array(algorithm), I32), Tout=to)])
    return steps


program("StochasticCastToInt", 0, rounded_by_chance, [HALF, BF16, F32, F64])
