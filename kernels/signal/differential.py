"""Fourier transforms and sounds."""
import struct

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def wav(samples, channels=1, rate=8000, bits=16, form=1, extra=b"", before=b"", after=b"", data=b"data", size=None, per_second=None, per_frame=None):
    body = np.asarray(samples, np.int16).tobytes()
    frame = channels * bits // 8
    fmt = struct.pack("<HHIIHH", form, channels, rate, rate * frame if per_second is None else per_second, frame if per_frame is None else per_frame, bits) + extra
    text = b"WAVE" + before + b"fmt " + struct.pack("<I", len(fmt)) + fmt + data + struct.pack("<I", len(body) if size is None else size) + body + after
    return b"RIFF" + struct.pack("<I", len(text)) + text


_SOUND = [0, 1, -1, 32767, -32768, 100, 7, 8]
_JUNK = struct.pack("<4sI", b"JUNK", 4) + b"abcd"
_FILES = [wav(_SOUND), wav(_SOUND, 2, 44100), wav([]), wav(_SOUND, extra=b"\0\0"), wav(_SOUND, before=_JUNK), wav(_SOUND, after=struct.pack("<4sI", b"LIST", 2) + b"xy"),
          wav(_SOUND, bits=8), wav(_SOUND, form=3), wav(_SOUND, channels=0), wav(_SOUND, extra=b"\0"), wav(_SOUND, data=b"dart"), wav(_SOUND, size=17),
          wav(_SOUND, size=2**31), wav(_SOUND, per_second=1), wav(_SOUND, per_frame=1), wav(_SOUND, before=b"LISTabcd"), wav(_SOUND)[:30], wav(_SOUND)[:-3], b"", b"RIFF",
          wav(_SOUND, after=struct.pack("<4sI", b"data", 2) + b"xy"), wav([1, 2, 3], 2), wav(_SOUND, after=struct.pack("<4sI", b"LIST", 200) + b"xy")]
row("DecodeWav", 0, plain(*[{"contents": Fed(f, STRING)} for f in _FILES],
                          *[{"contents": Fed(_FILES[1], STRING), "desired_channels": c, "desired_samples": n} for c, n in [(1, 2), (3, 9), (0, 0), (-1, 5), (2, -1)]],
                          {"contents": Fed([_FILES[0]], STRING)}))
row("EncodeWav", 0, plain(*[{"audio": V(shape, F32, (-1.5, 1.5)), "sample_rate": Fed(rate, I32)}
                            for shape, rate in [((9, 1), 8000), ((5, 2), 44100), ((0, 1), 16000), ((3, 0), 16000), ((3, 1), 0), ((3, 1), -5), ((2,), 8000), ((2, 65536), 8000)]],
                          {"audio": V((3, 1), F32), "sample_rate": ids(8000)}))
row("AudioSpectrogram", 4096, plain(*[{"input": V(shape, F32, (-1, 1)), "window_size": w, "stride": s, "magnitude_squared": m}
                                      for shape, w, s in [((64, 1), 16, 8), ((50, 2), 10, 3), ((7, 1), 2, 1), ((5, 2), 9, 1), ((0, 1), 4, 4), ((20, 0), 4, 4), ((9,), 4, 4), ((30, 1), 30, 1)]
                                      for m in (False, True)]))
row("Mfcc", 4096, plain(*[dict({"spectrogram": V(shape, F32, (0.1, 9)), "sample_rate": Fed(rate, I32)}, **more)
                          for shape, rate, more in [((1, 3, 257), 16000, {}), ((2, 2, 129), 8000, dict(dct_coefficient_count=5, filterbank_channel_count=20)),
                                                    ((1, 1, 65), 44100, dict(upper_frequency_limit=9000.0, lower_frequency_limit=100.0)), ((1, 0, 65), 8000, {}),
                                                    ((1, 2, 65), 0, {}), ((1, 2, 1), 8000, {}), ((2, 65), 8000, {}), ((1, 2, 65), 8000, dict(dct_coefficient_count=50)),
                                                    ((1, 2, 65), 8000, dict(lower_frequency_limit=5000.0)), ((1, 2, 65), 8000, dict(filterbank_channel_count=0)),
                                                    ((1, 2, 65), 4000, {})]],
                        {"spectrogram": V((1, 2, 65), F32), "sample_rate": ids(8000)}))
LINES = [(1,), (8,), (5,), (3, 12), (2, 7), (0,), (2, 97)]
row("FFT IFFT", 256, unary([C64, C128], (-2, 2), LINES, arg="input"))
row("FFT2D IFFT2D", 256, unary([C64, C128], (-2, 2), [(4, 6), (2, 3, 5), (3,)], arg="input"))
row("FFT3D IFFT3D", 256, unary([C64, C128], (-2, 2), [(4, 3, 6), (2, 2, 3, 5)], arg="input"))
row("RFFT", 256, each(*[lambda t, s=s, n=n: {"input": V(s, t), "fft_length": ids(n), "Tcomplex": C64 if t == F32 else C128}
                        for s, n in [((8,), 8), ((2, 9), 9), ((8,), 5), ((4,), 6)]], types=[F32, F64]))
row("IRFFT", 256, each(*[lambda t, s=s, n=n: {"input": V(s, t), "fft_length": ids(n), "Treal": F32 if t == C64 else F64}
                         for s, n in [((5,), 8), ((2, 5), 9), ((5,), 5), ((3,), 9)]], types=[C64, C128]))
row("RFFT2D", 256, each(lambda t: {"input": V((2, 4, 6), t), "fft_length": ids(4, 6), "Tcomplex": C64 if t == F32 else C128}, types=[F32, F64]))
row("IRFFT2D", 256, each(lambda t: {"input": V((2, 4, 4), t), "fft_length": ids(4, 6), "Treal": F32 if t == C64 else F64}, types=[C64, C128]))
row("RFFT3D", 256, each(*[lambda t, n=n: {"input": V((2, 3, 4, 6), t), "fft_length": ids(*n), "Tcomplex": C64 if t == F32 else C128}
                          for n in ((3, 4, 6), (2, 5, 6))], types=[F32, F64]))
row("IRFFT3D", 256, each(*[lambda t, n=n: {"input": V((2, 3, 4, 4), t), "fft_length": ids(*n), "Treal": F32 if t == C64 else F64}
                           for n in ((3, 4, 6), (2, 4, 5))], types=[C64, C128]))
