"""Encoded images: PNG, JPEG, GIF, BMP and WebP."""
import base64
import struct

from table import *  # pylint: disable=wildcard-import,unused-wildcard-import


def _png(channels, dtype=np.uint8):
    """Rows without a filter."""
    pixels = np.random.RandomState(channels).randint(0, np.iinfo(dtype).max + 1, (7, 5, channels)).astype(dtype)
    chunk = lambda kind, data: struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    header = struct.pack(">IIBBBBB", 5, 7, 8 * pixels.itemsize, {1: 0, 2: 4, 3: 2, 4: 6}[channels], 0, 0, 0)
    rows = b"".join(b"\0" + line.astype(pixels.dtype.newbyteorder(">")).tobytes() for line in pixels)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


# 16 x 12, in colours and gray.
_COLORED = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//"
    "2wBDAQ4ODhMREyYVFSZPNS01T09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT09PT0//wAARCAAMABADASIAAhEBAxEB/8QA"
    "FQABAQAAAAAAAAAAAAAAAAAABAb/xAAZEAACAwEAAAAAAAAAAAAAAAAAAwIEUWH/xAAUAQEAAAAAAAAAAAAAAAAAAAAC/8QAGBEAAwEBAAAAAAAAAAAAAAAA"
    "AAEDBCH/2gAMAwEAAhEDEQA/AIlNTg5NTgpK44PSuOCpdixaXw//2Q==")
_GRAY = base64.b64decode(
    "/9j/4AAQSkZJRgABAQEBLAEsAAD/2wBDAA0JCgsKCA0LCgsODg0PEyAVExISEyccHhcgLikxMC4pLSwzOko+MzZGNywtQFdBRkxOUlNSMj5aYVpQYEpRUk//"
    "wAALCAAMABABAREA/8QAFAABAAAAAAAAAAAAAAAAAAAABv/EABYQAAMAAAAAAAAAAAAAAAAAAAAFQf/aAAgBAQAAPwAMrgxVwHK4MVcP/9k=")


def _bmp(depth, height):
    width, rows = 5, abs(height)
    stride = (depth * width + 3) // 4 * 4
    pixels = bytes(range(256)) * (stride * rows // 256 + 1)
    number = lambda n, size=4: int(n).to_bytes(size, "little", signed=n < 0)
    return (b"BM" + number(54 + stride * rows) + number(0) + number(54) + number(40) + number(width) + number(height)
            + number(1, 2) + number(8 * depth, 2) + number(0) * 6 + pixels[:stride * rows])


def _gif(frames=1, left=0):
    """Two colours, blocks of literal codes with a clear in between, so that their width stays."""
    image = b""
    for k in range(frames):
        bits, held = 0, 0
        data = bytearray()
        for code in [c for i in range(6) for c in (4, (i + k) % 2)] + [5]:
            bits |= code << held
            held += 3
            while held >= 8:
                data.append(bits & 255)
                bits >>= 8
                held -= 8
        data.append(bits & 255)
        image += (b"!\xf9\x04\x01\x00\x00\x01\x00" + b"," + bytes([left if k else 0, 0, 0, 0, 3, 0, 2, 0, 0]) + b"\x02"
                  + bytes([len(data)]) + bytes(data) + b"\x00")
    return b"GIF89a\x03\x00\x02\x00\x80\x00\x00" + bytes([10, 20, 30, 200, 150, 100]) + image + b";"


# Two pixels, without loss, with and without alpha; 2 x 3 with loss; animated.
_WEBP = [base64.b64decode(text) for text in (
    "UklGRigAAABXRUJQVlA4TBsAAAAvAQAAEA/w4PZ36FzOXCGAACjCacJkVCCi/wEA", "UklGRiIAAABXRUJQVlA4TBUAAAAvAQAAAA/wIfYDs19vf/6DBxnR/wAA",
    "UklGRkgAAABXRUJQVlA4IDwAAAAQAgCdASoCAAMAAgA0JZACdEf/geh0g/AAAP5MD23BfIR2k37EWUoyn0LsAk+M20fwiQ86CM/oiQlKIAA=")]


def _animated_webp(size, *places):
    chunk = lambda kind, data: kind + struct.pack("<I", len(data)) + data + b"\0" * (len(data) % 2)
    number = lambda n: struct.pack("<I", n)[:3]
    frames = [chunk(b"ANMF", number(x // 2) + number(y // 2) + number(1) + number(0) + number(100) + b"\0" + _WEBP[0][12:]) for x, y in places]
    return chunk(b"RIFF", b"WEBP" + chunk(b"VP8X", b"\x12\0\0\0" + number(size[0] - 1) + number(size[1] - 1))
                 + chunk(b"ANIM", bytes(6)) + b"".join(frames))


_WEBP += [_animated_webp((2, 1), (0, 0)), _animated_webp((6, 4), (0, 0), (2, 2), (4, 0))]
_WEBP += [_WEBP[0][:20], _WEBP[0][:-9], _WEBP[4][:-20], b"RIFF", b"RIFF\0\0\0\0WEBP", _animated_webp((2, 1))]
FILES = [_png(1), _png(2), _png(3), _png(4), _png(3, np.uint16), _COLORED, _GRAY, _gif(), _gif(2), _bmp(3, 4), _bmp(3, -4),
         _bmp(4, 3), _bmp(1, 3), b"", b"nothing", _png(3)[:40], _COLORED[:300], _gif()[:30], _bmp(3, 4)[:60], *_WEBP]


def contents(ops, **attrs):
    row(ops, 0, plain(*[{"contents": Fed(np.array(f, object), STRING), **attrs} for f in FILES]))


contents("DecodePng DecodeBmp DecodeImage DecodeGif DecodeWebP")
for channels in (1, 3, 4):
    contents("DecodePng DecodeImage DecodeWebP", channels=channels)
contents("DecodeImage", dtype=F32)
contents("DecodeImage", dtype=U16, expand_animations=False)
contents("DecodePng", dtype=U16)
contents("DecodeJpeg", dct_method="INTEGER_ACCURATE")
contents("DecodeJpeg")
contents("DecodeJpeg", channels=1)
contents("DecodeJpeg", ratio=2, fancy_upscaling=False)
contents("DecodeJpeg", try_recover_truncated=True)
row("DecodeJpeg", 0, plain(*[{"contents": Fed(np.array(_COLORED[:300], object), STRING), "acceptable_fraction": f} for f in (0.0, 0.5)]))
known("DecodeJpeg", "(565 of 576 differ)", "libjpeg's versions differ in what they make of the part of a block row that the file lacks")
row("DecodeAndCropJpeg", WORDS, plain(*[{"contents": Fed(np.array(f, object), STRING), "crop_window": ids(0, 0, 1, 1)} for f in (_png(3), _gif(), _bmp(3, 4))]))
row("DecodeAndCropJpeg", 0, plain(*[{"contents": Fed(np.array(_COLORED, object), STRING), "crop_window": ids(*w)}
                                    for w in [(0, 0, 12, 16), (2, 3, 5, 7), (2, 3, 5, 17), (-1, 0, 2, 2), (0, 0, 0, 2), (1, 2, 3)]]))
contents("ExtractJpegShape")
row("EncodePng", 0, each(lambda t: {"image": V((5, 4, 3), t, (0, 255))}, lambda t: {"image": V((2, 5, 4, 1), t, (0, 255)), "compression": 3},
                         lambda t: {"image": V((5, 4, 5), t)}, lambda t: {"image": V((5, 4, 0), t)}, lambda t: {"image": V((5, 0, 3), t)}, lambda t: {"image": V((5, 3), t)}))
_PIXELS = np.random.RandomState(3).randint(0, 256, (9, 14, 3)).astype(np.uint8)
row("EncodeJpeg", 0, plain(*[{"image": Fed(_PIXELS[:, :, :c]), **a} for c in (1, 3)
                             for a in [{}, {"quality": 40}, {"progressive": True, "optimize_size": True}, {"chroma_downsampling": False},
                                       {"format": "grayscale"}, {"format": "rgb", "xmp_metadata": "x"}, {"density_unit": "cm", "x_density": 20}]],
                           {"image": Fed(np.zeros((2, 2, 2), np.uint8))}, {"image": Fed(np.zeros((2, 2), np.uint8))}, {"image": Fed(_PIXELS), "quality": 101}))
row("EncodeJpegVariableQuality", 0, plain(*[{"images": Fed(_PIXELS), "quality": Fed(q, I32)} for q in (0, 50, 100, 101, [3])]))
