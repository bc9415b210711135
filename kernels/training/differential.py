"""Optimizers."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

VAR = (4, 3)


def optimizer(row_index=0, wrong_shape=False):
    """Cases of an update: its definition tells what are slots, scalars and gradients."""
    def arguments(t):
        made, sparse = {}, any(a.name == "indices" for a in op_def().input_arg)
        for arg in op_def().input_arg:
            if arg.is_ref or arg.type == tf.resource.as_datatype_enum:
                made[arg.name] = Var(V(VAR, t, (0.5, 2)))
            elif arg.name in ("grad", "delta"):
                made[arg.name] = V((2, 2) if wrong_shape else (2, 3) if sparse else VAR, t, (-1, 1))
            elif arg.name == "indices":
                made[arg.name] = Fed([3, row_index], I32)
            elif arg.type == I64.as_datatype_enum:
                made[arg.name] = Fed(3, I64)
            else:
                made[arg.name] = Fed(-0.5, t) if arg.name == "lr_power" else V((), t, (0.1, 0.5))
        return made

    return lambda: map(arguments, allowed_types(current(), "T"))


UPDATES = ("GradientDescent Momentum KerasMomentum Adagrad AdagradV2 AdagradDA Adadelta Adam AdaMax AdamWithAmsgrad RMSProp "
           "CenteredRMSProp Ftrl FtrlV2 AddSign PowerSign ProximalGradientDescent ProximalAdagrad").split()
for _update in UPDATES:
    for _name in ("Apply" + _update, "SparseApply" + _update, "ResourceApply" + _update, "ResourceSparseApply" + _update):
        if hasattr(tf.raw_ops, _name):
            row(_name, 64, optimizer(), optimizer(wrong_shape=True))
            if "Sparse" in _name:
                row(_name, 64, optimizer(1), optimizer(3), optimizer(4), optimizer(-1))
