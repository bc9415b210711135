"""Sparse matrices by rows."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

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


program("DenseToCSRSparseMatrix CSRSparseMatrixToSparseTensor CSRSparseMatrixToDense CSRSparseMatrixComponents SparseMatrixNNZ SparseTensorToCSRSparseMatrix", 0,
        conversions, _TYPES)


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


program("SparseMatrixMatMul SparseMatrixSparseMatMul SparseMatrixTranspose", 64, products, _TYPES)
# Factors of sparse matrices. The order that keeps a factor sparse is one of many. TensorFlow dies of one that is no permutation, and of no rows.
SYMMETRIC = np.array([[4, 1, 0, 0, 1], [1, 5, 0, 0, 0], [0, 0, 3, 1, 0], [0, 0, 1, 6, 2], [1, 0, 0, 2, 7.]])


def csr(matrix):
    return raw.DenseToCSRSparseMatrix(dense_input=matrix, indices=tf.where(tf.not_equal(matrix, 0)))


def factors(t):
    steps = []
    imaginary = np.triu(SYMMETRIC, 1) * 0.5j if t.is_complex else 0
    one = SYMMETRIC + imaginary - np.transpose(imaginary)
    for matrix, order in ((one, [0, 1, 2, 3, 4]), (one, [2, 3, 4, 1, 0]), (np.stack([one, one * 2]), [[0, 1, 2, 3, 4], [4, 3, 2, 1, 0]]), (np.tril(one), [4, 3, 2, 1, 0]),
                          (-one, [0, 1, 2, 3, 4]), (one * 0, [0, 1, 2, 3, 4])):
        factor = raw.SparseMatrixSparseCholesky(input=csr(of_shape(Fed(matrix, t))), permutation=of_shape(Fed(np.array(order), I32)), type=t)
        steps += [raw.CSRSparseMatrixToDense(sparse_input=factor, type=t), raw.CSRSparseMatrixComponents(csr_sparse_matrix=factor, index=0, type=t)[0]]
    return steps


program("SparseMatrixSparseCholesky", 64, factors, [F32, F64, C64, C128])


def ordered(t):
    matrix = csr(of_shape(Fed(np.stack([SYMMETRIC, np.eye(5)]), t)))
    order = raw.SparseMatrixOrderingAMD(input=matrix)
    dense = raw.CSRSparseMatrixToDense(sparse_input=raw.SparseMatrixSparseCholesky(input=matrix, permutation=order, type=t), type=t)
    back = tf.argsort(order)
    product = tf.matmul(dense, dense, transpose_b=True)
    return [tf.sort(order), tf.round(tf.gather(tf.gather(product, back, batch_dims=1), back, batch_dims=1, axis=2))]


program("SparseMatrixOrderingAMD", 0, ordered, [F64])
