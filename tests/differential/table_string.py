"""Strings."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

row("StringJoin", 0, plain({"inputs": [V((3,), STRING), V((), STRING)], "separator": "-"}))
row("StringLength StringLower StringUpper StringStrip", 0, unary(), lambda: ({first_input(): Fed([b"", b" aB\t", "Äß€".encode(), b"\xff\xfe"], STRING)} for _ in range(1)))
row("StringToNumber", 0, lambda: ({"string_tensor": Fed(s, STRING), "out_type": t} for t in (F32, F64, I32, I64) for s in (
    [b"1", b" -2 ", b"3"], [b"1.5"], [b"1e40"], [b""], [b"x"], [b"99999999999"], [b"nan"], [b"0x10"], [b"inf"], [b"1e-50"])))
row("AsString", 0, unary(), special(), lambda: ({"input": Fed(SPECIAL[:4] + [1e20, 1.0 / 3], t), **a} for t in (F32, F64) for a in (
    dict(precision=3), dict(scientific=True), dict(shortest=True), dict(width=12, fill="0"), dict(width=9), dict(precision=2, width=9, fill="-"))),
    lambda: ({"input": V((4,), t), **a} for t in (I32, U8) for a in (dict(width=5), dict(width=5, fill="0"), dict(width=5, fill="-"), dict(precision=2), dict(fill="ab"))),
    lambda: ({"input": Fed([b"ab", b"", b"a\0b", b"abcdefg"], STRING), **a} for a in ({}, dict(width=5), dict(width=5, fill="-"), dict(width=5, fill="0"), dict(precision=2), dict(scientific=True), dict(shortest=True))))
row("DecodeRaw", 0, lambda: ({"bytes": Fed([b"abcdefgh" * 2, b"12345678" * 2], STRING), "out_type": t, "little_endian": e}
                             for t in ALL[:-1] for e in (True, False)), lambda: ({"bytes": Fed(b, STRING), "out_type": t} for t in (I32, U8) for b in (
                                 [b"abc"], [b"abcd", b"abcdefgh"], [b""], [])))
row("EncodeBase64", 0, lambda: ({"input": Fed([b"", b"a", b"ab", b"abc", b"\xff\xfe\xfd"], STRING), "pad": p} for p in (True, False)))
row("DecodeBase64", 0, lambda: ({"input": Fed(s, STRING)} for s in ([b"", b"YQ", b"YQ==", b"YWI", b"YWJj", b"__79"], [b"!"], [b"Y"], [b"YQ="])))
row("RegexFullMatch", 0, lambda: ({"input": Fed([b"abc", b"", b"aac"], STRING), "pattern": Fed(p, STRING)} for p in (b"a.*", b"", b"(", b"a+c")))
row("StaticRegexFullMatch", 0, lambda: ({"input": Fed([b"abc", b"", b"aac"], STRING), "pattern": p} for p in ("a.*", "", "(", "a+c")))
row("ShardedFilename", 0, plain({"basename": Fed(b"a/b", STRING), "shard": 3, "num_shards": 12}, {"basename": Fed([b"a"], STRING), "shard": 3, "num_shards": 12}))
row("ShardedFilespec", 0, plain({"basename": Fed(b"a/b", STRING), "num_shards": 12}))
row("ScalarSummary", 0, each(lambda t: {"tags": Fed([b"a", b"b"], STRING), "values": V((2,), t)}, lambda t: {"tags": Fed(b"a", STRING), "values": V((2,), t)}))
row("MergeSummary", 0, plain({"inputs": [Fed(b"", STRING)]}, {"inputs": [Fed(b"garbage", STRING), Fed(b"", STRING)]}))
row("Print", 0, each(lambda t: {"input": V((2,), t), "data": [V((3,), t)]}))
row("PrintV2", 0, plain({"input": Fed(b"", STRING)}, {"input": Fed([b"a"], STRING)}))
row("Assert", 0, plain({"condition": Fed(True, BOOL), "data": [V((3,), F32)]}, {"condition": Fed(False, BOOL), "data": [ids(1, 2), Fed(b"x", STRING)]},
                       {"condition": Fed([True], BOOL), "data": [ids(1)]}))
row("MatchingFiles", 0, plain({"pattern": Fed(b"/nowhere/*", STRING)}, {"pattern": Fed([b"/etc/host[n]ame", b"/nowhere"], STRING)}))
row("ReadFile", 0, plain({"filename": Fed(b"/nowhere/a", STRING)}, {"filename": Fed([b"a"], STRING)}, {"filename": Fed(b"", STRING)}))
row("WriteFile", 0, plain({"filename": Fed(b"/proc/nowhere", STRING), "contents": Fed(b"x", STRING)}, {"filename": Fed([b"/proc/nowhere"], STRING), "contents": Fed(b"x", STRING)}))
