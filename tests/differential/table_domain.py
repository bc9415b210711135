"""Sounds, clusters of points, sparse matrices by rows."""
import struct

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

raw = tf.raw_ops


def wav(samples, channels=1, rate=8000, bits=16, form=1, extra=b"", before=b"", after=b"", data=b"data", size=None, per_second=None, per_frame=None):
    body = np.asarray(samples, np.int16).tobytes()
    frame = channels * bits // 8
    fmt = struct.pack("<HHIIHH", form, channels, rate, rate * frame if per_second is None else per_second, frame if per_frame is None else per_frame, bits) + extra
    text = b"WAVE" + before + b"fmt " + struct.pack("<I", len(fmt)) + fmt + data + struct.pack("<I", len(body) if size is None else size) + body + after
    return b"RIFF" + struct.pack("<I", len(text)) + text


_SOUND = [0, 1, -1, 32767, -32768, 100, 7, 8]
_JUNK = struct.pack("<4sI", b"JUNK", 4) + b"abcd"
_FILES = [wav(_SOUND), wav(_SOUND, 2, 44100), wav([]), wav(_SOUND, extra=b"\0\0"), wav(_SOUND, before=_JUNK), wav(_SOUND, after=struct.pack("<4sI", b"LIST", 2) + b"xy"),
          wav(_SOUND, bits=8), wav(_SOUND, form=3), wav(_SOUND, channels=0), wav(_SOUND, extra=b"\0"), wav(_SOUND, data=b"dart"), wav(_SOUND, size=17),
          wav(_SOUND, size=2**31), wav(_SOUND, per_second=1), wav(_SOUND, per_frame=1), wav(_SOUND, before=b"LISTabcd"), wav(_SOUND)[:30], wav(_SOUND)[:-3], b"", b"RIFF",
          wav(_SOUND, after=struct.pack("<4sI", b"data", 2) + b"xy"), wav([1, 2, 3], 2), wav(_SOUND, after=struct.pack("<4sI", b"LIST", 200) + b"xy")]
row("DecodeWav", 0, plain(*[{"contents": Fed(f, STRING)} for f in _FILES],
                          *[{"contents": Fed(_FILES[1], STRING), "desired_channels": c, "desired_samples": n} for c, n in [(1, 2), (3, 9), (0, 0), (-1, 5), (2, -1)]],
                          {"contents": Fed([_FILES[0]], STRING)}))
row("EncodeWav", 0, plain(*[{"audio": V(shape, F32, (-1.5, 1.5)), "sample_rate": Fed(rate, I32)}
                            for shape, rate in [((9, 1), 8000), ((5, 2), 44100), ((0, 1), 16000), ((3, 0), 16000), ((3, 1), 0), ((3, 1), -5), ((2,), 8000), ((2, 65536), 8000)]],
                          {"audio": V((3, 1), F32), "sample_rate": ids(8000)}))
row("AudioSpectrogram", 4096, plain(*[{"input": V(shape, F32, (-1, 1)), "window_size": w, "stride": s, "magnitude_squared": m}
                                      for shape, w, s in [((64, 1), 16, 8), ((50, 2), 10, 3), ((7, 1), 2, 1), ((5, 2), 9, 1), ((0, 1), 4, 4), ((20, 0), 4, 4), ((9,), 4, 4), ((30, 1), 30, 1)]
                                      for m in (False, True)]))
row("Mfcc", 4096, plain(*[dict({"spectrogram": V(shape, F32, (0.1, 9)), "sample_rate": Fed(rate, I32)}, **more)
                          for shape, rate, more in [((1, 3, 257), 16000, {}), ((2, 2, 129), 8000, dict(dct_coefficient_count=5, filterbank_channel_count=20)),
                                                    ((1, 1, 65), 44100, dict(upper_frequency_limit=9000.0, lower_frequency_limit=100.0)), ((1, 0, 65), 8000, {}),
                                                    ((1, 2, 65), 0, {}), ((1, 2, 1), 8000, {}), ((2, 65), 8000, {}), ((1, 2, 65), 8000, dict(dct_coefficient_count=50)),
                                                    ((1, 2, 65), 8000, dict(lower_frequency_limit=5000.0)), ((1, 2, 65), 8000, dict(filterbank_channel_count=0)),
                                                    ((1, 2, 65), 4000, {})]],
                        {"spectrogram": V((1, 2, 65), F32), "sample_rate": ids(8000)}))

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

_TYPES = [F32, F64, C64, C128]


def of_shape(value):
    """Fed, with a shape that the client knows: it needs the rank."""
    made = fed(value)
    made.set_shape(value.value.shape)
    return made


def matrix(t, shape, indices):
    return raw.DenseToCSRSparseMatrix(dense_input=of_shape(V(shape, t)), indices=of_shape(Fed(np.array(indices, np.int64).reshape(-1, len(shape)))))


def entries(handle, t):
    return list(raw.CSRSparseMatrixToSparseTensor(sparse_matrix=handle, type=t))


_A = [[0, 1], [0, 3], [2, 0], [2, 2]]
_B = [[0, 0, 1], [0, 2, 0], [1, 1, 1], [1, 1, 3]]


def conversions(t):
    steps = []
    for shape, indices in [((3, 4), _A), ((2, 3, 4), _B), ((3, 4), []), ((2, 0, 4), [])]:
        m = matrix(t, shape, indices)
        steps += [entries(m, t), raw.CSRSparseMatrixToDense(sparse_input=m, type=t), raw.SparseMatrixNNZ(sparse_matrix=m)]
        steps += [list(raw.CSRSparseMatrixComponents(csr_sparse_matrix=m, index=of_shape(Fed(i, I32)), type=t)) for i in (0, 1, -1)]
    made = raw.SparseTensorToCSRSparseMatrix(indices=of_shape(Fed(_A, I64)), values=of_shape(V((4,), t)), dense_shape=[3, 4])
    wrong = raw.CSRSparseMatrixToDense(sparse_input=made, type=F32 if t == F64 else F64)
    outside = raw.SparseTensorToCSRSparseMatrix(indices=of_shape(Fed([[0, 1], [3, 0]], I64)), values=of_shape(V((2,), t)), dense_shape=[3, 4])
    return steps + [entries(made, t), wrong, raw.SparseMatrixNNZ(sparse_matrix=outside)]


def products(t):
    a, b = matrix(t, (3, 4), _A), matrix(t, (2, 3, 4), _B)
    steps = [entries(raw.SparseMatrixTranspose(input=m, type=t, conjugate=c), t) for m in (a, b) for c in (False, True)]
    for m, left, right in [(a, (4, 2), (3, 2)), (b, (2, 4, 2), (2, 3, 2))]:
        turned = lambda shape: shape[:-2] + (shape[-1], shape[-2])
        steps += [raw.SparseMatrixMatMul(a=m, b=of_shape(V(left, t))), raw.SparseMatrixMatMul(a=m, b=of_shape(V(right, t)), transpose_a=True),
                  raw.SparseMatrixMatMul(a=m, b=of_shape(V(right, t)), adjoint_a=True, transpose_output=True),
                  raw.SparseMatrixMatMul(a=m, b=of_shape(V(turned(left), t)), adjoint_b=True, conjugate_output=True),
                  raw.SparseMatrixMatMul(a=m, b=of_shape(V(turned(left), t)), transpose_b=True, transpose_output=True, conjugate_output=True)]
        steps += [entries(raw.SparseMatrixSparseMatMul(a=m, b=m, type=t, adjoint_b=True), t), entries(raw.SparseMatrixSparseMatMul(a=m, b=m, type=t, transpose_a=True), t),
                  entries(raw.SparseMatrixSparseMatMul(a=m, b=raw.SparseMatrixTranspose(input=m, type=t), type=t), t)]
    return steps


program("DenseToCSRSparseMatrix CSRSparseMatrixToSparseTensor CSRSparseMatrixToDense CSRSparseMatrixComponents SparseMatrixNNZ SparseTensorToCSRSparseMatrix", 0,
        conversions, _TYPES)
program("SparseMatrixMatMul SparseMatrixSparseMatMul SparseMatrixTranspose", 64, products, _TYPES)


_RAGGED, _SPARSE = b"\x0a\x02\x08\x03", b"\x0a\x02\x08\x01"  # CompositeTensorVariantMetadata of these classes


def composites(t):
    made = raw.CompositeTensorVariantFromComponents(components=[fed(V((3,), t)), fed([0, 2, 3], I64)], metadata=_RAGGED)
    nothing = raw.CompositeTensorVariantFromComponents(components=[], metadata=_SPARSE)
    apart = lambda encoded, types, metadata=_RAGGED: list(raw.CompositeTensorVariantToComponents(encoded=encoded, metadata=metadata, Tcomponents=types))
    return [apart(made, [t, I64]), apart(made, [t, t]), apart(made, [t]), apart(made, [t, I64], _SPARSE),
            apart(raw.EmptyTensorList(element_shape=fed(-1, I32), max_num_elements=fed(-1, I32), element_dtype=t), [t]),
            apart(raw.CompositeTensorVariantFromComponents(components=[nothing], metadata=_RAGGED), [tf.variant])[0]]


program("CompositeTensorVariantFromComponents CompositeTensorVariantToComponents", 0, composites, [F32, I32, STRING])
