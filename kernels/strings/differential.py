"""Text that is split, joined, hashed, formatted and converted."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("Fingerprint", 0, plain(*[{"data": V(s, t), "method": Fed(b"farmhash64", STRING)} for s in ((2, 0), (0, 3), (2, 3, 0)) for t in (F32, U8)]))
row("Fingerprint", 0, each(*[lambda t, s=s: {"data": V(s, t), "method": one("farmhash64")} for s in ((3, 4), (2,), (3, 0), (0, 2), ())]),
    plain({"data": V((2,), F32), "method": one("other")}))
known("Fingerprint", "data=string[3, 0]", "of rows without strings TensorFlow gives what was in memory")
row("StringJoin", 0, plain({"inputs": [V((3,), STRING), V((), STRING)], "separator": "-"}))
row("StringLength StringLower StringUpper StringStrip", 0, unary(), lambda: ({first_input(): Fed([b"", b" aB\t", "Äß€".encode(), b"\xff\xfe"], STRING)} for _ in range(1)))
row("StringToNumber", 0, lambda: ({"string_tensor": Fed(s, STRING), "out_type": t} for t in (F32, F64, I32, I64) for s in (
    [b"1", b" -2 ", b"3"], [b"1.5"], [b"1e40"], [b""], [b"x"], [b"99999999999"], [b"nan"], [b"0x10"], [b"inf"], [b"1e-50"])))
row("AsString", 0, unary(), special(), lambda: ({"input": Fed(SPECIAL[:4] + [1e20, 1.0 / 3], t), **a} for t in (F32, F64) for a in (
    dict(precision=3), dict(scientific=True), dict(shortest=True), dict(width=12, fill="0"), dict(width=9), dict(precision=2, width=9, fill="-"))),
    lambda: ({"input": V((4,), t), **a} for t in (I32, U8) for a in (dict(width=5), dict(width=5, fill="0"), dict(width=5, fill="-"), dict(precision=2), dict(fill="ab"))),
    lambda: ({"input": Fed([b"ab", b"", b"a\0b", b"abcdefg"], STRING), **a} for a in ({}, dict(width=5), dict(width=5, fill="-"), dict(width=5, fill="0"), dict(precision=2), dict(scientific=True), dict(shortest=True))))
row("EncodeBase64", 0, lambda: ({"input": Fed([b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd"], STRING), "pad": p} for p in (True, False)))
row("DecodeBase64", 0, lambda: ({"input": Fed(s, STRING)} for s in ([b"", b"YQ", b"YQ==", b"YWI", b"YWJj", b"__79"], [b"!"], [b"Y"], [b"YQ="])))
row("RegexFullMatch", 0, lambda: ({"input": Fed([b"abc", b"", b"aac"], STRING), "pattern": Fed(p, STRING)} for p in (b"a.*", b"", b"(", b"a+c")))
row("StaticRegexFullMatch", 0, lambda: ({"input": Fed([b"abc", b"", b"aac"], STRING), "pattern": p} for p in ("a.*", "", "(", "a+c")))
TEXTS = ["", "a", " a b  c ", "x,y,,z", "h\u00e9llo w\u00f6rld", "\U0001F600 smile", "tab\tnew\nline", b"\xff\xfe bad", "a" * 70]
row("StringLower StringUpper", 0, plain(*[{"input": text(*TEXTS[:7], "\u0130\u00df\u03a3"), "encoding": e} for e in ("", "utf-8", "latin")]))
row("StringFormat", 0, plain(*[{"inputs": i, "template": p, "placeholder": "{}", "summarize": s} for s in (3, 1, -1) for i, p in [
    ([V((), F32), V((7,), I32)], "a {} b {}"), ([V((2, 3, 8), F64)], "{}"), ([text(*TEXTS)], "<{}>"), ([V((2, 0), HALF)], "{}"), ([V((9,), BOOL), V((3, 3), BF16)], "{}{}"),
    ([V((2,), I8), V((2,), U64)], "{} {}")]],
                               {"inputs": [V((), BOOL), V((), F32)], "template": "<{}|{}>", "placeholder": "{}", "summarize": 0}))
row("StringSplit", 0, plain(*[{"input": text(*TEXTS), "delimiter": one(d), "skip_empty": s} for d in (" ", ", ", "", ",") for s in (True, False)],
                            {"input": one("a"), "delimiter": one(" ")}, {"input": text("a"), "delimiter": text(" ")}))
row("StringSplitV2", 0, plain(*[{"input": text(*TEXTS), "sep": one(d), "maxsplit": m} for d in (" ", ", ", "", ",", "aa") for m in (-1, 0, 1, 2)],
                              {"input": one("a"), "sep": one(" ")}, {"input": text("a"), "sep": text(" ")}))
row("Substr", 0, plain(*[{"input": text("h\u00e9llo", "w\u00f6rld!"), "pos": Fed(p, I32), "len": Fed(n, I32), "unit": u} for u in ("BYTE", "UTF8_CHAR")
                         for p, n in [(1, 2), (-2, 9), (0, 0), (5, 1), (6, 1), (7, 1), (-9, 1), ([1, 2], [2, 1]), ([1], [3]), ([[1], [2]], [[1], [2]]), ([1, 2, 3], [1, 1, 1]),
                                      (1, -1), (1, [2])]]))
row("StringToHashBucket", 0, plain(*[{"string_tensor": text(*TEXTS), "num_buckets": n} for n in (1, 1000003, 2 ** 62)]))
row("StringToHashBucketFast", 0, plain(*[{"input": text(*TEXTS), "num_buckets": n} for n in (1, 1000003, 2 ** 62)]))
row("StringToHashBucketStrong", 0, plain(*[{"input": text(*TEXTS), "num_buckets": 1000003, "key": k} for k in ([1, 2], [-5, 2 ** 40])]))
row("StringNGrams", 0, plain(*[{"data": text(*"abcdef"), "data_splits": Fed(s, I64), "separator": "|", "ngram_widths": w, "left_pad": "L", "right_pad": "RR", "pad_width": p,
                                "preserve_short_sequences": k} for k in (True, False) for p in (-1, 0, 1, 5) for w in ([2], [1, 3], [4])
                               for s in ([0, 1, 4, 6], [0, 0, 6])],
                             *[{"data": text(*"abcdef"), "data_splits": Fed(s, I64), "separator": "|", "ngram_widths": [2], "left_pad": "L", "right_pad": "R", "pad_width": 0,
                                "preserve_short_sequences": True} for s in ([0, 1, 4], [1, 6], [0, 7], [0, 4, 2, 6], [0, 6, -1], [])]))
row("ReduceJoin", 0, plain(*[{"inputs": text(*"abcdef", shape=(2, 3)), "reduction_indices": Fed(a, I32), "keep_dims": k, "separator": s} for k in (False, True) for s in ("", "-")
                             for a in ([0], [1], [0, 1], [1, 0], [-1], [], 0, [2], [0, 0], [-3])], {"inputs": text(shape=(0, 3)), "reduction_indices": Fed([0], I32)}))
row("UnsortedSegmentJoin", 0, plain(*[{"inputs": text(*"abcdef", shape=(3, 2)), "segment_ids": Fed(i, I32), "num_segments": Fed(n, I32), "separator": ":"} for i, n in [
    ([0, 2, 0], 3), ([[0, 1], [1, 1], [0, 0]], 2), ([0, 3, 0], 3), ([-1, 0, 0], 3), ([0, 1], 3), (0, 3), ([0, 0, 0], -1), ([0, 0, 0], [3])]],
    *[{"inputs": text("", "", "c", ""), "segment_ids": Fed([0, 0, 0, 0], I32), "num_segments": Fed(1, I32), "separator": ":"}]))
row("RegexReplace", 0, plain(*[{"input": text(*TEXTS), "pattern": one(p), "rewrite": one(r), "replace_global": g} for g in (True, False)
                               for p, r in [("[a-c]", "<\\0>"), ("(a)(b)?", "\\2\\1"), ("", "-"), ("(", "x"), ("a", "\\7")]], {"input": text("a"), "pattern": text("a"), "rewrite": one("b")}))
row("StaticRegexReplace", 0, plain(*[{"input": text(*TEXTS), "pattern": p, "rewrite": r, "replace_global": g} for g in (True, False) for p, r in [("[a-c]", "<\\0>"), ("(a)(b)?", "\\2\\1")]]))
ENCODINGS = ("UTF-8", "UTF-16-BE", "US ASCII", "ISO-8859-1", "no such")
row("UnicodeDecode UnicodeDecodeWithOffsets", 0, plain(*[{"input": text(*TEXTS), "input_encoding": e, "errors": r, "replacement_char": c, "replace_control_characters": k, "Tsplits": s}
                                                        for e in ENCODINGS for r in ("replace", "ignore", "strict") for c, k, s in [(65533, False, I64), (63, True, I32)]]))
row("UnicodeEncode", 0, plain(*[{"input_values": Fed(v, I32), "input_splits": Fed(s, I64), "errors": r, "output_encoding": e} for e in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
                                for r in ("replace", "ignore", "strict") for v, s in [([72, 233, 0x1F600], [0, 1, 3]), ([72, -1, 0xD800, 0x110000], [0, 4]), ([72], [0, 2]), ([72], [1, 1]),
                                                                                      ([72, 73], [0, 2, 1, 2]), ([], [0]), ([0xFFFE, 0xFFFF, 0xFDD0], [0, 3]),
                                                                                      ([72, 73], [[0, 2]])]]))
row("UnicodeTranscode", 0, plain(*[{"input": text(*TEXTS), "input_encoding": i, "output_encoding": o, "errors": r, "replace_control_characters": k} for i in ENCODINGS
                                   for o in ("UTF-8", "UTF-16-BE", "UTF-32-BE") for r in ("replace", "ignore", "strict") for k in (False, True)]))
row("UnicodeScript", 0, plain({"input": Fed([65, 233, 0x3042, 0x1F600, -1, 0x110000, 0x5D0], I32)}))
