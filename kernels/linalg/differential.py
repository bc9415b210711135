"""Factors, solutions and functions of matrices."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

known("TridiagonalSolve", "gradient of TridiagonalSolve(diagonals=complex", "TensorFlow solves with the transposed matrix, not with its conjugate")
row("TridiagonalSolve", 0, each(*[lambda t, d=d, p=p: {"diagonals": Fed(d, t), "rhs": Fed([[1]] * len(d[0]), t), "partial_pivoting": p}
                                  for d in ([[0], [0], [0]], [[0] * 3] * 3, [[1, 1, 0], [1, 1, 0], [0, 1, 0]]) for p in (True, False)],
                                types=[F32, F64]))
row("TridiagonalSolve", 1 << 14, each(*[lambda t, p=p: {"diagonals": Fed(np.array([[1, 2, 0], [7, 8, 9], [0, 2, 1]]) + np.zeros((2, 3, 3)), t), "rhs": V((2, 3, 2), t), "partial_pivoting": p}
                                     for p in (True, False)], lambda t: {"diagonals": Fed(np.zeros((3, 2)), t), "rhs": V((2, 1), t)}))
row("TridiagonalSolve", 64, plain(*[{"diagonals": V(d, F32), "rhs": V(r, F32)} for d, r in [((3, 3), (3,)), ((2, 3, 3), (3, 1)), ((3,), (3,))]]))
known("MatrixDeterminant", "gradient of MatrixDeterminant(input=complex", "TensorFlow leaves out the conjugate; complex differences agree with Weir")
known("MatrixSolveLs", "gradient of MatrixSolveLs(matrix=complex", "as MatrixDeterminant")
row("MatrixSolveLs", 4096, each(*[lambda t, a=a, b=b, f=f: {"matrix": V(a, t), "rhs": V(b, t), "l2_regularizer": Fed(0.1 if f else 0.0, F64), "fast": f}
                                  for a, b in [((4, 3), (4, 2)), ((2, 4), (2, 1)), ((3, 3), (2, 1))] for f in (True, False)], types=[F64, C128]))
SINGULAR = [([[0, 0], [0, 0]], [[1], [1]]), ([[1, 0], [5, 0]], [[1], [1]]), ([[0, 0], [5, 1]], [[0], [0]])]
row("MatrixTriangularSolve", 0, each(*[lambda t, m=m, r=r, l=l: {"matrix": Fed(m, t), "rhs": Fed(r, t), "lower": l}
                                       for m, r in SINGULAR for l in (True, False)], types=[F32, F64]))
row("MatrixTriangularSolve", 512, each(*[
    lambda t, a=a, b=b, l=l, j=j: {"matrix": V(a, t, (1, 3)), "rhs": V(b, t), "lower": l, "adjoint": j}
    for a, b in [((3, 3), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((4, 4), (2, 4, 1)), ((3, 3), (2, 2))] for l in (False, True) for j in (False, True)],
    types=[F32, F64, C64, C128]))
SQUARES = [(3, 3), (2, 4, 4), (0, 0), (2, 3), (3,)]
row("MatrixDeterminant LogMatrixDeterminant", 512, each(*[lambda t, s=s: {"input": V(s, t)} for s in SQUARES], types=[F32, F64, C64, C128]))
row("MatrixDeterminant LogMatrixDeterminant", 8, each(lambda t: {"input": Fed([[-np.inf, 0], [0, 1]], t)}, types=[F32, F64]))
row("MatrixInverse", 512, each(*[lambda t, s=s, a=a: {"input": V(s, t), "adjoint": a} for s in SQUARES for a in (False, True)], types=[F64, C128]))
row("MatrixSolve", 512, each(*[lambda t, a=a, b=b, j=j: {"matrix": V(a, t), "rhs": V(b, t), "adjoint": j}
                               for a, b in [((3, 3), (3, 2)), ((2, 4, 4), (2, 4, 1)), ((3, 3), (2, 2)), ((2, 3), (2, 1)), ((0, 0), (0, 2))]
                               for j in (False, True)], types=[F64, C128]))
row("BandedTriangularSolve", 512, each(*[
    lambda t, a=a, b=b, l=l, j=j: {"matrix": V(a, t, (1, 3)), "rhs": V(b, t), "lower": l, "adjoint": j}
    for a, b in [((2, 5), (5, 2)), ((3, 2, 4), (3, 4, 1)), ((1, 3), (3, 2)), ((4, 3), (3, 2))] for l in (False, True) for j in (False, True)],
    types=[F64, C128]))
row("MatrixTriangularSolve BandedTriangularSolve", 64, plain(*[
    {"matrix": V(m, F32), "rhs": V(r, F32)} for m, r in [
        ((3, 3), (2, 1)), ((3, 3), (2,)), ((2,), (2, 1)), ((2, 3), (3, 1)), ((2, 3, 3), (3, 3, 1)), ((0, 3), (3, 1)), ((3, 3), (3, 0))]]))
row("Qr", 512, each(*[lambda t, s=s, f=f: {"input": V(s, t), "full_matrices": f} for s in [(3, 3), (5, 2), (2, 2, 4), (0, 2)] for f in (False, True)],
                    types=[F32, F64, C64, C128]))
row("Svd", 4096, each(*[lambda t, s=s, f=f: {"input": V(s, t), "full_matrices": f} for s in [(3, 3), (5, 2), (2, 2, 4), (0, 2)]
                        for f in (False, True)], types=[F32, F64]))
outputs_of("Svd", (0,), 4096, each(*[lambda t, s=s: {"input": V(s, t), "compute_uv": False} for s in [(3, 3), (5, 2), (2, 2, 4), (20, 18)]],
                                   types=[F32, F64, C64, C128]))


def products_of_decompositions(t):
    """Phases of singular vectors follow from roundings, so what they multiply to is compared."""
    steps = []
    for shape in ((3, 3), (5, 2), (2, 2, 4)):
        d = raw.Svd(input=fed(V(shape, t)))
        steps.append([d.s, tf.matmul(d.u * tf.cast(d.s, t)[..., None, :], d.v, adjoint_b=True)])
    return steps


program("Svd", 2048, products_of_decompositions, [C64, C128])
row("SelfAdjointEigV2", 4096, each(*[lambda t, s=s: {"input": V(s, t)} for s in [(3, 3), (2, 4, 4), (2, 3)]], types=[F32, F64, C64, C128]))
outputs_of("SelfAdjointEigV2", (0,), 4096, each(*[lambda t, s=s: {"input": V(s, t), "compute_v": False} for s in [(3, 3), (7, 7)]],
                                                types=[F32, F64, C64, C128]))


def positive(t, n):
    a = np.random.RandomState(n).randn(2, n, n)
    return Fed(a @ a.transpose(0, 2, 1) + np.eye(n), t)


row("Cholesky", 512, each(lambda t: {"input": positive(t, 3)}, lambda t: {"input": positive(t, 6)}, lambda t: {"input": Fed(-np.eye(3), t)},
                          lambda t: {"input": V((2, 3), t)}, types=[F32, F64]))
for above in ("0,1", "0,2", "1,2"):
    known("Cholesky", f"output 0 at {above}", "above the diagonal of a failed factor TensorFlow does not initialise")


def eig(shape, **more):
    return lambda t: {"input": V(shape, t), "Tout": C64 if t in (F32, C64) else C128, **more}


row("Eig", 1 << 12, each(*[eig(s) for s in [(3, 3), (2, 4, 4), (1, 1), (2, 3), (0, 0)]], types=[C64, C128]))
# Of real matrices the phases of conjugate vectors follow from roundings.
outputs_of("Eig", (0,), 1 << 12, each(*[eig(s) for s in [(3, 3), (2, 4, 4), (1, 1), (0, 0)]], types=[F32, F64]))
row("Eig", 0, each(eig((2, 3)), types=[F32, F64]))
outputs_of("Eig", (0,), 1 << 12, each(*[eig(s, compute_v=False) for s in [(3, 3), (5, 5)]], types=[F32, F64, C64, C128]))


def residuals(t):
    wide = C64 if t == F32 else C128
    x = fed(V((2, 4, 4), t))
    e, v = raw.Eig(input=x, Tout=wide)
    return [[tf.reduce_max(tf.abs(tf.matmul(tf.cast(x, wide), v) - v * e[..., None, :])) < 1e-3]]


program("Eig", 0, residuals, [F32, F64])
row("CholeskyGrad", 512, each(*[lambda t, n=n: {"l": Fed(np.linalg.cholesky(positive(F64, n).value), t), "grad": V((2, n, n), t)} for n in (1, 3, 6)],
                              lambda t: {"l": V((2, 3), t), "grad": V((2, 3), t)}, types=[F32, F64]))
_SQUARE = lambda t: Fed(np.array([[4, 1, 0.5], [2, 5, 1], [0, 1, 3]]) + np.zeros((2, 3, 3)), t)
row("MatrixSquareRoot", 1 << 12, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((2, 3), t)},
                                      lambda t: {"input": Fed([[-4, 1], [0, 9]], t)}, types=[F32, F64, C64, C128]))
row("MatrixLogarithm", 1 << 14, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((0, 2, 2), t)}))
row("MatrixLogarithm", 1e4, each(*[lambda t, m=m: {"input": Fed(m, t)} for m in (
    [[0, 0], [0, 0]], [[1, 0], [0, 1]], [[0, 1], [0, 0]], [[-1, 0], [0, 2]], [[1, 2], [2, 4]])]))
row("Lu", 1 << 10, each(lambda t: {"input": _SQUARE(t)}, lambda t: {"input": V((3, 2), t)}, lambda t: {"input": Fed(np.zeros((2, 2)), t)}, types=[F32, F64, C64, C128]))
row("Lu Cholesky", 64, plain({"input": V((2,), F32)}))
row("TridiagonalMatMul", 64, each(*[lambda t, m=m: {"superdiag": V((2, 1, 4), t), "maindiag": V((2, 1, 4), t), "subdiag": V((2, 1, m), t), "rhs": V((2, 4, 3), t)} for m in (4, 3)]))
