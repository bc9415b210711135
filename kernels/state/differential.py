"""Variables of both kinds, and scatters into them."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def ref_variable(t):
    var = raw.VariableV2(shape=[3], dtype=t)
    return [raw.IsVariableInitialized(ref=var), raw.Assign(ref=var, value=fed(V((3,), t))), raw.IsVariableInitialized(ref=var),
            raw.Identity(input=var), raw.Assign(ref=var, value=fed(V((2,), t)), validate_shape=False), raw.Identity(input=var)]


program("VariableV2 IsVariableInitialized Assign", 0, ref_variable)
VAR = (4, 3)
row("Assign", 0, each(lambda t: {"ref": Var(V(VAR, t)), "value": V(VAR, t)}, lambda t: {"ref": Var(V(VAR, t)), "value": V((3,), t)}))


def unset_variable(t):
    return [raw.Identity(input=raw.VariableV2(shape=[3], dtype=t))]


program("VariableV2", 0, unset_variable, [F32])


def resource_variable(t):
    var = raw.VarHandleOp(shape=[3], dtype=t, shared_name=tf1.get_default_graph().unique_name("v"))
    read = raw.ReadVariableOp(resource=var, dtype=t)
    return [raw.VarIsInitializedOp(resource=var), raw.AssignVariableOp(resource=var, value=fed(V((3,), t))), read,
            raw.VariableShape(input=var), raw.VarIsInitializedOp(resource=var),
            raw.DestroyResourceOp(resource=var, ignore_lookup_error=False), raw.VarIsInitializedOp(resource=var), read]


program("VarHandleOp VarIsInitializedOp ReadVariableOp AssignVariableOp VariableShape DestroyResourceOp", 0, resource_variable, NUMBERS + [BOOL])
row("AssignAddVariableOp AssignSubVariableOp AssignVariableOp", 0, each(*[
    lambda t, s=s: {"resource": Var(V(VAR, t)), "value": V(s, t)} for s in (VAR, (3,), ())], types=None))


def old_variable(t):
    var = raw.Variable(shape=[3], dtype=t)
    return [raw.Assign(ref=var, value=fed(V((3,), t))), raw.Identity(input=var)]


program("Variable", 0, old_variable, [F32, I32])


def temporary(t):
    var = raw.TemporaryVariable(shape=[3], dtype=t, var_name="a")
    return [raw.DestroyTemporaryVariable(ref=raw.Assign(ref=var, value=fed(V((3,), t))), var_name="a")]


program("TemporaryVariable DestroyTemporaryVariable", 0, temporary, [F32, I32, F64])
row("AssignAdd AssignSub", 0, each(*[lambda t, s=s: {"ref": Var(V(VAR, t)), "value": V(s, t)} for s in (VAR, (3,), ())]))
row("CountUpTo", 0, each(lambda t: {"ref": Var(Fed(3, t)), "limit": 5}, lambda t: {"ref": Var(Fed(5, t)), "limit": 5}))
row("ResourceCountUpTo", 0, each(lambda t: {"resource": Var(Fed(3, t)), "limit": 5, "T": t},
                                 lambda t: {"resource": Var(Fed(5, t)), "limit": 5, "T": t}))
INDICES = ([3, 0], [1, 1], [4, 0], [-1, 0])
_INDICES = [lambda n: Fed(n, I32), lambda n: Fed(n, I64)]
row("ScatterUpdate ScatterAdd ScatterSub ScatterMul ScatterDiv ScatterMin ScatterMax", 4, each(*[
    lambda t, i=i, f=f: {"ref": Var(V(VAR, t)), "indices": f(i), "updates": V((2, 3), t, (1, 5))} for i in INDICES for f in _INDICES] + [
        lambda t: {"ref": Var(V(VAR, t)), "indices": ids(1, 2), "updates": V((), t, (1, 5))},
        lambda t: {"ref": Var(V(VAR, t)), "indices": ids(1, 2), "updates": V((2, 2), t, (1, 5))}]))
row("ResourceScatterUpdate ResourceScatterAdd ResourceScatterSub ResourceScatterMul ResourceScatterDiv ResourceScatterMin "
    "ResourceScatterMax", 4, each(*[
        lambda t, i=i, f=f: {"resource": Var(V(VAR, t)), "indices": f(i), "updates": V((2, 3), t, (1, 5))} for i in INDICES for f in _INDICES] + [
            lambda t: {"resource": Var(V(VAR, t)), "indices": ids(1, 2), "updates": V((), t, (1, 5))},
            lambda t: {"resource": Var(V(VAR, t)), "indices": ids(1, 2), "updates": V((2, 2), t, (1, 5))}]))
for _name in "Update Add Sub Mul Div Min Max".split():
    known("ResourceScatter" + _name, "Must have updates.shape", "TensorFlow reads beyond the updates")
ND = [([[3], [0]], (2, 3)), ([[1, 2], [0, 0]], (2,)), ([[4], [0]], (2, 3)), ([[1, -1]], (1,)), ([[1]], (2, 2)), ([[[0]], [[1]]], (2, 1, 3))]
row("ScatterNdUpdate ScatterNdAdd ScatterNdSub ScatterNdMin ScatterNdMax", 0, each(*[
    lambda t, i=i, s=s: {"ref": Var(V(VAR, t)), "indices": Fed(i, I32), "updates": V(s, t)} for i, s in ND]))
row("ResourceScatterNdUpdate ResourceScatterNdAdd ResourceScatterNdSub ResourceScatterNdMin ResourceScatterNdMax", 0, each(*[
    lambda t, i=i, s=s: {"ref": Var(V(VAR, t)), "indices": Fed(i, I32), "updates": V(s, t)} for i, s in ND]))
row("ResourceGather", 0, each(*[lambda t, i=i: {"resource": Var(V(VAR, t)), "indices": Fed(i, I32), "dtype": t}
                                for i in ([3, 0], [[1], [2]], [], [4], [-1])]))
row("ResourceGatherNd", 0, each(*[lambda t, i=i: {"resource": Var(V(VAR, t)), "indices": Fed(i, I32), "dtype": t}
                                  for i in ([[3], [0]], [[1, 2]], [[4]], [[0, 3]])]))
