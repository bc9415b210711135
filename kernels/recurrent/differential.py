"""LSTM and GRU cells and blocks."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("GRUBlockCellGrad", 256, each(
    lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((2, 3), t, (0, 1)), "u": V((2, 3), t, (0, 1)), "c": V((2, 3), t, (-1, 1)), "d_h": V((2, 3), t)},
    lambda t: {"x": V((0, 4), t), "h_prev": V((0, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((0, 3), t), "u": V((0, 3), t), "c": V((0, 3), t), "d_h": V((0, 3), t)},
    lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((6, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t),
               "r": V((2, 3), t), "u": V((2, 3), t), "c": V((2, 3), t), "d_h": V((2, 3), t)}))


def cell(t, rows, peephole):
    n = 3
    return {"cs_prev": V((2, n), t, (-1, 1)), "h_prev": V((2, n), t, (-1, 1)), "w": V((rows + n, 4 * n), t, (-1, 1)), "wci": V((n,), t), "wcf": V((n,), t),
            "wco": V((n,), t), "b": V((4 * n,), t), "use_peephole": peephole}


row("LSTMBlockCell", 256, each(*[lambda t, p=p: {"x": V((2, 4), t), **cell(t, 4, p)} for p in (False, True)], types=[F32]))
row("BlockLSTM BlockLSTMV2", 512, each(*[lambda t, p=p, n=n: {"seq_len_max": Fed(n, I64), "x": V((5, 2, 4), t, (-1, 1)), **cell(t, 4, p)}
                                         for p in (False, True) for n in (5,)], types=[F32]))
BLOCK = {"x": (5, 2, 4), "cs_prev": (2, 3), "h_prev": (2, 3), "w": (7, 12), "wci": (3,), "wcf": (3,), "wco": (3,), "b": (12,)}
row("BlockLSTM", WORDS, plain(*[
    {"seq_len_max": Fed(3, I64), **{name: V(wrong.get(name, shape), F32) for name, shape in BLOCK.items()}} for wrong in [
        {"x": (2, 4)}, {"cs_prev": (2, 3, 1)}, {"w": (7,)}, {"w": (6, 12)}, {"wci": (4,)}, {"b": (12, 1)}, {"b": (11,)}]]))
row("GRUBlockCell", 256, each(lambda t: {"x": V((2, 4), t), "h_prev": V((2, 3), t), "w_ru": V((7, 6), t), "w_c": V((7, 3), t), "b_ru": V((6,), t), "b_c": V((3,), t)}))
CELL = {"x": (2, 4), "h_prev": (2, 3), "w_ru": (7, 6), "w_c": (7, 3), "b_ru": (6,), "b_c": (3,)}
row("GRUBlockCell", WORDS, plain(*[
    {name: V(wrong.get(name, shape), F32) for name, shape in CELL.items()} for wrong in [
        {"x": (4,)}, {"h_prev": (3, 3)}, {"w_ru": (7, 5)}, {"w_c": (6, 3)}, {"b_ru": (6, 1)}, {"b_c": (4,)}]]))


def lstm_gradients(t):
    steps = []
    for peephole in (False, True):
        x, start = fed(V((5, 2, 4), t, (-1, 1))), {name: fed(value) for name, value in cell(t, 4, peephole).items() if isinstance(value, Fed)}
        for version in ("", "V2"):
            y = getattr(raw, "BlockLSTM" + version)(seq_len_max=fed(4, I64), x=x, use_peephole=peephole, **start)
            steps.append(list(getattr(raw, "BlockLSTMGrad" + version)(
                seq_len_max=fed(4, I64), x=x, use_peephole=peephole, **start, **y._asdict(), cs_grad=tf.ones_like(y.cs), h_grad=tf.ones_like(y.h))))
        y = raw.LSTMBlockCell(x=x[0], use_peephole=peephole, **start)
        outputs = {name: value for name, value in y._asdict().items() if name != "h"}
        steps.append(list(raw.LSTMBlockCellGrad(x=x[0], use_peephole=peephole, **start, **outputs, cs_grad=tf.ones_like(y.cs), h_grad=tf.ones_like(y.h))))
    return steps


program("BlockLSTMGrad BlockLSTMGradV2 LSTMBlockCellGrad", 512, lstm_gradients, [F32])
row("LSTMBlockCell", WORDS, plain(*[
    {"x": V((b, 3), F32), "cs_prev": V((b, h), F32), "h_prev": V((b, h), F32), "w": V((3 + h, 4 * h), F32), "wci": V((h,), F32), "wcf": V((h,), F32), "wco": V((h,), F32),
     "b": V((4 * h,), F32)} for b, h in ((0, 2), (2, 0))]))
