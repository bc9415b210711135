"""Products of matrices."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("MatMul", 64, each(*[
    lambda t, a=a, b=b, ta=ta, tb=tb: {"a": V(a[::-1] if ta else a, t), "b": V(b[::-1] if tb else b, t),
                                       "transpose_a": ta, "transpose_b": tb}
    for a, b in [((3, 4), (4, 5)), ((0, 4), (4, 5)), ((3, 0), (0, 5)), ((33, 65), (65, 17)), ((2, 3), (4, 5)), ((3,), (3, 2))]
    for ta in (False, True) for tb in (False, True)]))
row("MatMul", 64, plain(*[{"a": V(a, F32), "b": V(b, F32)} for a, b in [((2,), (2, 2)), ((2, 2), (2,)), ((1, 2, 2), (2, 2)), ((), ())]]))
row("MatMul", WORDS, plain(*[{"a": V(a, F64), "b": V(b, F64)} for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3, 4), (2, 4, 5)), ((2, 3), (4, 5))]]))
row("BatchMatMul BatchMatMulV2", 64, each(*[
    lambda t, a=a, b=b: {"x": V(a, t), "y": V(b, t)}
    for a, b in [((2, 3, 4), (2, 4, 5)), ((3, 4), (4, 5)), ((0, 3, 4), (0, 4, 5)), ((2, 1, 3, 4), (2, 5, 4, 2)),
                 ((2, 3, 4), (3, 4, 5)), ((2, 3, 4), (2, 3, 4))]]))
row("BatchMatMulV2", WORDS, plain(*[{"x": V(a, F32), "y": V(b, F32)} for a, b in [((3,), (3,)), ((2, 3, 4), (3, 4, 5)), ((2, 3, 4), (3, 3, 5))]]))
row("BatchMatMul", WORDS, plain(*[{"x": V(a, F32), "y": V(b, F32)} for a, b in [((3,), (3,)), ((2, 3), (3,)), ((2, 3, 4), (4, 5))]]))
row("BatchMatMulV3", 64, each(*[lambda t, a=a, b=b: {"x": V(a, t), "y": V(b, t), "Tout": t}
                                for a, b in [((2, 3, 4), (2, 4, 5)), ((3, 4), (4, 5)), ((2, 1, 3, 4), (5, 4, 2)), ((2, 3), (2, 3))]],
                              types=[F32, F64, HALF, BF16, I32, C64]))
row("Einsum", 256, each(*[lambda t, e=e, s=s: {"inputs": [V(x, t) for x in s], "equation": e}
                          for e, s in [("ab,bc->ac", [(2, 3), (3, 4)]), ("abc,bc->a", [(2, 3, 4), (3, 4)]), ("ab->ba", [(2, 3)]), ("ab->a", [(2, 3)]),
                                       ("ii->i", [(3, 3)]), ("i->ii", [(3,)]), ("...ab,...bc->...ac", [(2, 3, 4), (4, 5)]), ("ab,cd->abcd", [(2, 3), (2, 2)]),
                                       ("abd,acd->abc", [(2, 3, 4), (2, 5, 4)]), ("ab,bc->ac", [(2, 3), (4, 4)]), (",ab->b", [(), (2, 3)])]],
                        types=[F32, F64, I32, C64]))
row("Einsum", WORDS, plain(*[{"inputs": [V(s, F32) for s in shapes], "equation": e} for e, *shapes in [
    ("i j,jk->ik", (2, 3), (3, 4)), ("ij,jk->ik", (2, 3), (4, 4)), ("ijk,jk->ik", (2, 3), (3, 4)), ("ij,jk->ik", (2, 2, 3), (3, 4))]]))
# Not "i...->": TensorFlow refuses an ellipsis that the output lacks, Weir sums over it, as its gradient of Einsum wants.
row("Einsum", 64, plain(*[{"inputs": [V(s, F32) for s in shapes], "equation": e} for e, *shapes in [
    ("i1->i", (2, 3)), ("...ij->i", (2,)), ("ij,jkl->ik", (2, 3), (3, 4)), ("ii->i", (2, 3)),
    ("...ij,...jk->...ik", (2, 2, 2), (3, 2, 2)), ("i...->i...", (2, 3))]]))
