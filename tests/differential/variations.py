"""Cases beside those of the tables: each has one value that is changed, in its shape or its elements, so that it fits its op no
more, or just so."""
import numpy as np
import tensorflow as tf

import table


def variations(cases, count):
    """`count` cases made of `cases`, (bound, arguments) each. The same ones each time."""
    rng = np.random.RandomState(len(cases) + count)
    made = []
    for _ in range(count if cases else 0):
        ulps, arguments = cases[rng.randint(len(cases))]
        places = [(name, i) for name, value in arguments.items() for i, v in enumerate(value if isinstance(value, list) else [value])
                  if isinstance(v, table.Fed)]
        if not places:
            continue
        name, i = places[rng.randint(len(places))]
        value = arguments[name]
        if isinstance(value, list):
            changed = value[:i] + [_changed(value[i], rng)] + value[i + 1:]
        else:
            changed = _changed(value, rng)
        made.append((ulps, {**arguments, name: changed}))
    return made


def _changed(fed, rng):
    change = (_reshaped, _revalued)[rng.randint(2)] if fed.value.size and fed.dtype not in (tf.bool, tf.string) else _reshaped
    changed = table.Fed(change(fed.value, fed.dtype, rng), fed.dtype)
    changed.__class__ = fed.__class__
    return changed


def _reshaped(value, dtype, rng):
    del dtype
    shape = list(value.shape)
    axis = rng.randint(len(shape)) if shape else 0
    shapes = [shape + [1], [1] + shape, [value.size], [1] * len(shape), [0] * len(shape), [2, 3]]
    if shape:
        shapes += [shape[1:], shape[:-1], shape[:axis] + [shape[axis] + 1] + shape[axis + 1:],
                   shape[:axis] + [max(shape[axis] - 1, 0)] + shape[axis + 1:], shape[:axis] + [0] + shape[axis + 1:],
                   shape[:axis] + [1] + shape[axis + 1:]]
    wanted = shapes[rng.randint(len(shapes))]
    if not value.size:
        return np.zeros(wanted, value.dtype) if value.dtype != object else np.full(wanted, b"a", object)
    return np.resize(value, wanted)


def _revalued(value, dtype, rng):
    if dtype.is_integer or dtype.is_quantized:
        choices = [-1, 0, 1, 2, 3, 5, 100]
        choices = [c for c in choices if dtype.min <= c <= dtype.max]
    else:
        choices = [0.0, -1.0, 1.0, 0.5, float("nan"), float("inf"), -float("inf")]
    changed = value.copy()
    at = tuple(rng.randint(size) for size in value.shape)
    changed[at] = choices[rng.randint(len(choices))]
    return changed
