#!/usr/bin/env python3
"""Writes Parquet and Arrow files, and the lines that parquet_main prints for them with batches of four rows.

    table_files.py DIRECTORY

Prints the folder of pyarrow.
"""

import datetime
import decimal
import os
import sys
from pathlib import Path

import pyarrow
import pyarrow.feather
import pyarrow.parquet

ROWS, GROUP, BATCH = 25, 10, 4
# Name: Arrow type, type of the tensor, value of row i, its text.
COLUMNS = {
    "i": (pyarrow.int64(), "int64", lambda i: i * i, str),
    "f": (pyarrow.float32(), "float", lambda i: i / 2, lambda x: f"{x:g}"),
    "text": (pyarrow.string(), "string", lambda i: f"row {i}", lambda x: f'"{x}"'),
    "b": (pyarrow.bool_(), "bool", lambda i: i % 3 == 0, lambda x: str(x).lower()),
    "u": (pyarrow.uint8(), "uint8", lambda i: 255 - i, str),
    "day": (pyarrow.date32(), "int32", lambda i: datetime.date(1970, 1, 1) + datetime.timedelta(days=i),
            lambda x: str((x - datetime.date(1970, 1, 1)).days)),
    "kind": (pyarrow.dictionary(pyarrow.int32(), pyarrow.string()), "string", lambda i: "ab"[i % 2], lambda x: f'"{x}"'),
    "pair": (pyarrow.list_(pyarrow.int32(), 2), "int32", lambda i: [i, -i], None),
}


def batches():
    """The rows of each element: a batch ends with its row group."""
    for group in range(0, ROWS, GROUP):
        end = min(group + GROUP, ROWS)
        for first in range(group, end, BATCH):
            yield range(first, min(first + BATCH, end))


def line(rows):
    parts = []
    for name, (_, dtype, value, text) in COLUMNS.items():
        if text is None:
            body, shape = " ".join(str(x) for i in rows for x in value(i)), f"{len(rows)},2"
        else:
            body, shape = " ".join(text(value(i)) for i in rows), len(rows)
        parts.append(f"{name} {dtype}[{shape}] [{body}]")
    return ", ".join(parts) + "\n"


def main():
    to = Path(sys.argv[1])
    arrays = {name: pyarrow.array([value(i) for i in range(ROWS)], kind) for name, (kind, _, value, _) in COLUMNS.items()}
    # Columns that no tensor can have; only their own readers fail.
    arrays["nulls"] = pyarrow.array([None] * ROWS, pyarrow.int64())
    arrays["lists"] = pyarrow.array([[1] * (i % 3) for i in range(ROWS)])
    arrays["money"] = pyarrow.array([decimal.Decimal(i) for i in range(ROWS)], pyarrow.decimal128(9, 2))
    table = pyarrow.table(arrays)
    pyarrow.parquet.write_table(table, to / "a.parquet", row_group_size=GROUP, compression="zstd")
    pyarrow.feather.write_feather(table, to / "a.arrow", chunksize=GROUP, compression="lz4")
    for name in ("a.parquet", "a.arrow"):
        (to / f"{name}.expected").write_text("".join(map(line, batches())))
        whole = (to / name).read_bytes()
        (to / name.replace("a.", "cut.")).write_bytes(whole[: len(whole) // 2])
        (to / name.replace("a.", "text.")).write_text("This is no table.")
    damaged = bytearray((to / "a.parquet").read_bytes())
    damaged[8:200] = bytes(192)
    (to / "damaged.parquet").write_bytes(damaged)
    (to / "columns").write_text(",".join(f"{name}:{dtype}" for name, (_, dtype, _, _) in COLUMNS.items()))
    print(os.path.dirname(pyarrow.__file__))


if __name__ == "__main__":
    main()
