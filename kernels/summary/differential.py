"""Summaries and their writers."""
from scratch_files import path
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def histograms(t):
    return [raw.HistogramSummary(tag="h", values=fed(V((50,), t))), raw.HistogramSummary(tag="h", values=fed(V((0,), t)))]


program("HistogramSummary", 0, histograms)


def other_summaries(t):
    return [raw.AudioSummaryV2(tag="a", tensor=np.linspace(-1.5, 1.5, 24, dtype=np.float32).reshape(shape), sample_rate=rate)
            for shape, rate in (((2, 12), 8000.), ((4, 3, 2), 44100.), ((24,), 1.), ((2, 12), 0.))] + [
                raw.TensorSummaryV2(tag="t", tensor=fed(V((2, 2), t)), serialized_summary_metadata=b""),
                raw.TensorSummaryV2(tag="t", tensor=np.array(["x"]), serialized_summary_metadata=b"\n\x03\n\x01x")]


program("AudioSummaryV2 TensorSummaryV2", 0, other_summaries, [F32, I64, BOOL])


def image_summaries(t):
    images = fed(V((3, 4, 5, 3), t, (0, 200)))
    return [raw.ImageSummary(tag="i", tensor=images, max_images=2), raw.ImageSummary(tag="i", tensor=fed(V((1, 4, 5, 1), t, (0, 90)))),
            raw.ImageSummary(tag="i", tensor=fed(V((1, 4, 5, 2), t))), raw.ImageSummary(tag="i", tensor=fed(V((4, 5, 3), t))),
            raw.ImageSummary(tag=["i"], tensor=images)]


# Of doubles, the last bit depends on how TensorFlow was compiled.
program("ImageSummary", 0, image_summaries, [U8, HALF, F32])


def image_summary_of_nothing(t):
    pixels = np.zeros((1, 2, 2, 1))
    pixels[0, 0, 1] = np.nan
    pixels[0, 1, 0] = 3
    return [raw.ImageSummary(tag="i", tensor=fed(Fed(pixels, t))), raw.ImageSummary(tag="i", tensor=fed(Fed(-1 - pixels, t)))]


program("ImageSummary", 0, image_summary_of_nothing, [F32, HALF, F64])


def tensor_summary(t):
    return [raw.TensorSummary(tensor=fed(V((2, 2), t)), description="d", labels=["l"], display_name="n")]


program("TensorSummary", 0, tensor_summary, [F32, I64, STRING])
known("SummaryWriter", "value must be scalar", "TensorFlow writes the first of several numbers")
known("SummaryWriter", "Could not parse the summary metadata", "TensorFlow drops metadata that it cannot parse")


def summary_files(_):
    writer = raw.SummaryWriter(shared_name="writer")
    step, meta = np.int64(3), b"\n\x03\n\x01x"
    write = lambda name, **kw: getattr(raw, name)(writer=writer, step=step, **kw)
    return [write("WriteScalarSummary", tag="s", value=fed(2.5, F32)),
            raw.CreateSummaryFileWriter(writer=writer, logdir=path("logs"), max_queue=3, flush_millis=1000, filename_suffix=".x"),
            write("WriteScalarSummary", tag="s", value=fed(2.5, F32)), write("WriteScalarSummary", tag="s", value=fed([1, 2], I32)),
            write("WriteSummary", tag="t", tensor=fed(V((2,), F64)), summary_metadata=meta),
            write("WriteSummary", tag="t", tensor=fed(V((2,), F64)), summary_metadata=b"\xff"),
            write("WriteHistogramSummary", tag="h", values=fed(V((9,), F32))),
            write("WriteHistogramSummary", tag="h", values=fed([1.0, np.nan], F32)),
            write("WriteImageSummary", tag="i", tensor=fed(V((1, 2, 2, 3), F32)), bad_color=np.array([255, 0, 0, 255], np.uint8)),
            write("WriteImageSummary", tag="i", tensor=fed(V((2, 2), F32)), bad_color=np.array([255, 0, 0, 255], np.uint8)),
            write("WriteAudioSummary", tag="a", tensor=fed(V((1, 9), F32, (-1, 1))), sample_rate=np.float32(8000)),
            write("WriteGraphSummary", tensor=fed(tf1.GraphDef().SerializeToString(), STRING)),
            write("WriteRawProtoSummary", tensor=fed(tf1.Summary().SerializeToString(), STRING)),
            write("WriteRawProtoSummary", tensor=fed(b"\xff", STRING)), raw.FlushSummaryWriter(writer=writer),
            raw.CloseSummaryWriter(writer=writer), raw.FlushSummaryWriter(writer=writer), raw.CloseSummaryWriter(writer=writer)]


program("SummaryWriter CreateSummaryFileWriter WriteScalarSummary WriteSummary WriteHistogramSummary WriteImageSummary WriteAudioSummary "
        "WriteGraphSummary WriteRawProtoSummary FlushSummaryWriter CloseSummaryWriter", 0, summary_files, NOTYPE)
row("ScalarSummary", 0, each(lambda t: {"tags": Fed([b"a", b"b"], STRING), "values": V((2,), t)}, lambda t: {"tags": Fed(b"a", STRING), "values": V((2,), t)}))
row("MergeSummary", 0, plain({"inputs": [Fed(b"", STRING)]}, {"inputs": [Fed(b"garbage", STRING), Fed(b"", STRING)]}))
