"""Whether two answers to one case agree."""
import numpy as np
import tensorflow as tf

UNITS = {tf.float16: 2.0 ** -10, tf.bfloat16: 2.0 ** -7, tf.float32: 2.0 ** -23, tf.float64: 2.0 ** -52}


class Answer:
    """What a case, or one step of it, gave: arrays, or the class and message of an error. `steps`: an Answer for each step of
    a program, which goes on after errors. `died`: the process did not survive."""

    def __init__(self, arrays=(), error=None, message="", died=False, steps=()):
        self.arrays, self.error, self.message, self.died, self.steps = arrays, error, message, died, steps

    def summary(self):
        if self.died:
            return "dies"
        if self.error is None:
            return "OK"
        return "%s: %s" % (self.error, essence(self.message))


def essence(message):
    """What an error says, without where it happened."""
    lines = [line.strip() for line in message.split("\n")]
    traces = [i for i, line in enumerate(lines) if line.startswith("Node: '")]  # each ends a stack trace of the client
    lines = lines[traces[-1] + 1:] if traces else lines
    lines = [line for line in lines if line and line != "Graph execution error:"]
    end = next((i for i, line in enumerate(lines) if i and line.startswith(("[[", "Original stack trace"))), len(lines))
    lines = lines[:end]
    return " ".join(lines)[:220]


def is_missing(answer):
    """Whether the op, or its kernel for these types, is not there."""
    return answer.error is not None and any(part in answer.message.lower() for part in (
        "no opkernel was registered", "not registered", "no kernel", "could not find valid device"))


def differences(ours, theirs, ulps, floor=None):
    """Why two lists of arrays differ, or None. `floor`: values below it need no more precision than it has."""
    if len(ours) != len(theirs):
        return "%d values before an error, should be %d" % (len(ours), len(theirs))
    for i, (a, b) in enumerate(zip(ours, theirs)):
        a, b = np.asarray(a), np.asarray(b)
        if a.dtype != b.dtype or a.shape != b.shape:
            return "output %d: %s%s, should be %s%s" % (i, a.dtype, a.shape, b.dtype, b.shape)
        kind = tf.as_dtype(b.dtype) if b.dtype != object else tf.string
        if kind.is_floating or kind.is_complex:
            same = _near(a, b, kind, ulps, floor)
        else:
            same = a == b
        if not np.all(same):
            at = tuple(np.argwhere(~np.atleast_1d(same))[0])
            a, b = np.atleast_1d(a), np.atleast_1d(b)
            return "output %d at %s: %s, should be %s (%d of %d differ)" % (
                i, ",".join(map(str, at)), a[at], b[at], np.sum(~same), a.size)
    return None


def _near(a, b, kind, ulps, floor):
    if kind.is_complex:
        # Each part is as exact as the larger one allows.
        wide, unit = np.complex128, UNITS[kind.real_dtype]
    else:
        wide, unit = np.float64, UNITS.get(kind, 2.0 ** -3)
    a, b = a.astype(wide), b.astype(wide)
    with np.errstate(all="ignore"):
        sizes = np.where(np.isfinite(b), np.abs(b), 0)
        # Sums may cancel: what counts is the size of what was summed.
        if floor is None:
            floor = 0 if ulps == 0 else 1e-3 if ulps < 64 else 0.1 * sizes.max(initial=0)
        near = np.abs(a - b) <= ulps * unit * np.maximum(sizes, floor)
        equal = (a == b) | (np.isnan(a) & np.isnan(b)) | near
        if kind.is_complex:
            equal |= _same(a.real, b.real) & _same(a.imag, b.imag)
    return equal


def _same(a, b):
    return (a == b) | (np.isnan(a) & np.isnan(b))
