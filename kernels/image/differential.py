"""Resized, cropped, colored, projected and annotated images; boxes."""
from table import *  # pylint: disable=wildcard-import,unused-wildcard-import

IMAGES = (2, 7, 6, 3)
row("ExtractImagePatches", 0, each(*[
    lambda t, p=p, k=k, s=s, r=r: {"images": V(IMAGES, t), "ksizes": [1, k, 2, 1], "strides": [1, s, 1, 1], "rates": [1, r, r, 1], "padding": p}
    for p in ("SAME", "VALID") for k, s, r in [(1, 1, 1), (3, 2, 1), (2, 3, 2)]]))
# Windows that a stride would bring back fit nowhere; those beyond it have no size.
BEYOND = [{"strides": [1, s, s, 1], "padding": "VALID"} for s in (1, 2, 3)]
row("ExtractImagePatches", 0, plain(*[{"images": V((1, 6, 6, 2), F32), "ksizes": [1, 9, 3, 1], "rates": [1, 1, 1, 1], **b} for b in BEYOND]))
row("ExtractVolumePatches", 0, each(*[
    lambda t, p=p, k=k: {"input": V((2, 4, 5, 3, 2), t), "ksizes": [1, k, 2, 2, 1], "strides": [1, 2, 1, 1, 1], "padding": p}
    for p in ("SAME", "VALID") for k in (1, 3)]))
row("ExtractGlimpse ExtractGlimpseV2", 0, plain(*[
    {"input": V(IMAGES, F32), "size": ids(3, 2), "offsets": Fed([[0.1, -0.2], [0.7, 2.0]], F32), "centered": c, "normalized": n, "uniform_noise": False, "noise": "zero"}
    for c in (True, False) for n in (True, False)], {"input": V(IMAGES, F32), "size": ids(3), "offsets": V((2, 2), F32)}))
row("ExtractGlimpse ExtractGlimpseV2", 0, plain(*[{"input": V((2, 6, 8, 3), F32), "size": Fed(s, I32), "offsets": Fed([[0, 0], [-0.5, 0.7]], F32)}
                                                  for s in ([0, 3], [3, 0], [2, -1])]))
KERNELS = ["lanczos1", "lanczos3", "lanczos5", "gaussian", "box", "triangle", "keyscubic", "mitchellcubic"]
row("ScaleAndTranslate", 1 << 14, each(*[
    lambda t, k=k, a=a, s=s: {"images": V(IMAGES, t), "size": ids(*s), "scale": Fed([1.7, 0.6], F32), "translation": Fed([0.3, -1.0], F32), "kernel_type": k, "antialias": a}
    for k in KERNELS for a, s in [(True, (9, 4)), (False, (3, 8))]]))
row("ScaleAndTranslateGrad", 1 << 14, each(*[
    lambda t, k=k: {"grads": V((2, 9, 4, 3), t), "original_image": V(IMAGES, t), "scale": Fed([1.7, 0.6], F32), "translation": Fed([0.3, -1.0], F32), "kernel_type": k}
    for k in KERNELS]))
_SHORT = [U8, I32, I64, HALF, BF16, F32]  # double is computed in float, in TensorFlow too
row("ImageProjectiveTransformV2", 64, each(*[
    lambda t, i=i, m=m: {"images": V(IMAGES, t), "transforms": Fed([[1, 0.3, -1, 0.1, 0.9, 0.4, 0.01, 0]], F32), "output_shape": ids(8, 5), "interpolation": i, "fill_mode": m}
    for i in ("NEAREST", "BILINEAR") for m in ("CONSTANT", "REFLECT", "WRAP", "NEAREST")], types=_SHORT))
row("ImageProjectiveTransformV3", 64, each(*[
    lambda t, i=i: {"images": V(IMAGES, t), "transforms": V((2, 8), F32, (-1, 1)), "output_shape": ids(3, 9), "fill_value": Fed(2, F32), "interpolation": i, "fill_mode": "CONSTANT"}
    for i in ("NEAREST", "BILINEAR")], lambda t: {"images": V(IMAGES, t), "transforms": V((3, 8), F32), "output_shape": ids(3, 9), "fill_value": Fed(2, F32), "interpolation": "NEAREST"}, types=_SHORT))
for op, more in (("DrawBoundingBoxes", {}), ("DrawBoundingBoxesV2", {"colors": V((2, 4), F32)})):
    row(op, 0, each(*[lambda t, d=d, more=more: {"images": V((2, 9, 8, d), t), "boxes": Fed([[[.1, .2, .6, .7], [-.5, 0, .4, 3]], [[0, 0, 1, 1], [.5, .5, .2, .6]]], F32), **more}
                      for d in (1, 2, 3, 4)]))
row("DrawBoundingBoxesV2", 0, each(*[lambda t, b=b: {
    "images": Fed(np.linspace(0, 1, 300).reshape(1, 10, 10, 3), t), "boxes": Fed([[b]], F32), "colors": Fed([[.1, .7, .3]], F32)}
    for b in ([.1, .1, .8, .8], [.3, -3, .9, .5])]))
NAN, INF = np.nan, np.inf
row("DrawBoundingBoxes", 0, each(*[lambda t, b=b: {"images": Fed(np.linspace(0, 1, 300).reshape(1, 10, 10, 3), t), "boxes": Fed([[b]], F32)} for b in (
    [.1, .1, .8, .8], [NAN, .1, .8, .8], [.1, NAN, .8, .8], [.1, .1, NAN, .8], [.1, .1, .8, NAN], [-INF, .1, INF, .8], [.1, -INF, .8, INF], [INF, 0, INF, 1])]))
_BOXES = [[[0.1, 0.2, 0.8, 0.9], [0.0, 0.0, 0.3, 0.3]]]
row("SampleDistortedBoundingBox", 0, each(*[
    lambda t, s=s, b=b, a=a: {"image_size": Fed([40, 50, 3], t), "bounding_boxes": Fed(b, F32) if b else V((1, 0, 4), F32), "seed": s, "seed2": 5, **a}
    for s in (1, 2, 3) for b, a in [(_BOXES, {}), (None, {"use_image_if_no_bounding_boxes": True}), (None, {})]]))
row("SampleDistortedBoundingBoxV2", 0, each(*[
    lambda t, m=m: {"image_size": Fed([40, 50, 3], t), "bounding_boxes": Fed(_BOXES, F32), "min_object_covered": Fed(m, F32), "seed": 7, "seed2": 5, "max_attempts": 20}
    for m in (0.1, 0.9, 1.5)]))
row("StatelessSampleDistortedBoundingBox", 0, each(*[
    lambda t, s=s: {"image_size": Fed([40, 50, 3], t), "bounding_boxes": Fed(_BOXES, F32), "min_object_covered": Fed(0.3, F32), "seed": Fed([s, 9], I32)}
    for s in (1, 2, 3)]))
row("NonMaxSuppressionWithOverlaps", 0, plain(*[
    {"overlaps": V((n, m), F32, (0, 1)), "scores": V((n,), F32), "max_output_size": 4, "overlap_threshold": 0.5, "score_threshold": -3.0} for n, m in [(8, 8), (0, 0), (3, 4)]],
    {"overlaps": V((8, 8), F32, (0, 1)), "scores": V((8,), F32), "max_output_size": 4, "overlap_threshold": float("nan"), "score_threshold": 0.0}))
row("CombinedNonMaxSuppression", 8, plain(*[
    {"boxes": V((2, 6, q, 4), F32, (-0.2, 1.2)), "scores": V((2, 6, 3), F32, (0, 1)), "max_output_size_per_class": 2, "max_total_size": 5,
     "iou_threshold": 0.3, "score_threshold": 0.2, "pad_per_class": p, "clip_boxes": c} for q in (1, 3, 2) for p in (True, False) for c in (True, False)]))
row("NonMaxSuppression", 0, plain(*[{"boxes": V((n, 4), F32, (0, 1)), "scores": V((m,), F32), "max_output_size": Fed(k, I32), "iou_threshold": i}
                                    for n, m, k, i in ((9, 9, 4, 0.3), (9, 9, 20, 0.7), (0, 0, 3, 0.5), (3, 4, 2, 0.5), (3, 3, -1, 0.5), (3, 3, 2, 1.5))]))
ODD_BOXES = [[0, 0, 1, 1], [0.2, 0.3, 0.1, 0.9]]
row("CropAndResize", 8, plain(*[{"image": V((2, 6, 8, 3), F32), "boxes": Fed([b], F32), "box_ind": Fed([1], I32), "crop_size": Fed([2, 3], I32)}
                                for b in ODD_BOXES + [[np.nan, 0, 1, 1], [0, 0, np.inf, 1]]]))
SMALL = (2, 4, 5, 3)
BOXES = Fed([[0, 0, 1, 1], [0.2, 0.3, 0.7, 0.9], [-0.5, 0, 1.5, 0.4]], F32)
row("CropAndResize", 64, each(*[lambda t, m=m, s=s, i=i: {"image": V(SMALL, t), "boxes": BOXES, "box_ind": Fed(i, I32), "crop_size": Fed(s, I32), "method": m}
                                for m in ("bilinear", "nearest") for s in ([3, 4], [1, 1], [0, 2]) for i in ([0, 1, 1], [0, 2, 1])], types=[F32, U8, I32]))
row("ResizeBilinear ResizeBicubic ResizeNearestNeighbor", 128, each(*[
    lambda t, s=s, a=a, h=h: {"images": V(SMALL, t), "size": Fed(s, I32), "align_corners": a, "half_pixel_centers": h}
    for s in ([8, 7], [2, 3], [4, 5], [1, 1], [0, 2]) for a, h in [(False, False), (True, False), (False, True)]], types=[F32, F64, U8]))
row("ResizeArea", 64, each(*[lambda t, s=s, a=a: {"images": V(SMALL, t), "size": Fed(s, I32), "align_corners": a}
                             for s in ([8, 7], [2, 3], [4, 5]) for a in (False, True)], types=[F32, U8]))
row("ResizeBilinearGrad ResizeBicubicGrad", 64, each(*[
    lambda t, s=s, a=a, h=h: {"grads": V((2, *s, 3), F32), "original_image": V(SMALL, t), "align_corners": a, "half_pixel_centers": h}
    for s in ((8, 7), (2, 3)) for a, h in [(False, False), (True, False), (False, True)]], types=[F32]))
row("ResizeBilinearGrad ResizeBicubicGrad", 64, plain(*[
    {"grads": V((2, 4, 4, 3), F32), "original_image": V(s, F32)} for s in [(1, 2, 2, 3), (3, 2, 2, 3), (2, 2, 2, 1), (2, 2, 2, 4), (0, 2, 2, 0)]]))
row("ResizeNearestNeighborGrad", 64, each(*[
    lambda t, s=s, a=a, h=h: {"grads": V((2, *s, 3), t), "size": ids(4, 5), "align_corners": a, "half_pixel_centers": h}
    for s in ((8, 7), (2, 3)) for a, h in [(False, False), (True, False), (False, True)]], types=[F32, F64]))
row("RGBToHSV HSVToRGB", 0, unary([F32, F64], (0, 1), [(4, 3), (2, 3, 4, 3), (3, 2)], arg="images"))
row("AdjustContrastv2", 64, each(lambda t: {"images": V(SMALL, t, (0, 1)), "contrast_factor": Fed(1.7, F32)}, types=[F32]))
COLORS = np.concatenate([np.random.RandomState(5).rand(60, 3), [[0, 0, 0], [1, 1, 1], [.5, .5, .1], [.5, .1, .5], [.1, .5, .5], [-1, 2, .3]]]).astype(np.float32)[None]
row("AdjustHue", 0, each(*[lambda t, d=d: {"images": Fed(COLORS, t), "delta": Fed(d, F32)} for d in (0.3, 0.0, -0.7, 1.0, -9.3, 100.5)],
                         lambda t: {"images": V((2, 2), t), "delta": Fed(0.3, F32)}, types=[F32]))
row("AdjustSaturation", 0, each(*[lambda t, s=s: {"images": Fed(COLORS, t), "scale": Fed(s, F32)} for s in (1.7, 0.0, 0.4, -1.0, 90.0)], types=[F32]))
row("CropAndResizeGradImage", 64, each(*[lambda t, m=m: {"grads": V((3, 3, 4, 3), F32), "boxes": BOXES, "box_ind": ids(0, 1, 1), "image_size": ids(*SMALL), "T": t, "method": m}
                                         for m in ("bilinear", "nearest")], types=[F32]))
row("CropAndResizeGradBoxes", 512, each(lambda t: {"grads": V((3, 3, 4, 3), F32), "image": V(SMALL, t), "boxes": BOXES, "box_ind": ids(0, 1, 1)}, types=[F32]))


def boxes(n):
    corner = np.random.RandomState(n).rand(n, 2)
    return {"boxes": Fed(np.concatenate([corner, corner + 0.3], 1), F32), "scores": Fed(np.random.RandomState(n + 1).rand(n), F32)}


row("NonMaxSuppressionV3 NonMaxSuppressionV4", 0, plain(*[
    {**boxes(20), "max_output_size": Fed(k, I32), "iou_threshold": Fed(i, F32), "score_threshold": Fed(s, F32)}
    for k in (3, 20, -1) for i in (0.1, 0.5, 1.5) for s in (0.0, 0.4)]))
row("NonMaxSuppressionV5", 8, plain(*[
    {**boxes(20), "max_output_size": Fed(k, I32), "iou_threshold": Fed(0.5, F32), "score_threshold": Fed(0.1, F32), "soft_nms_sigma": Fed(s, F32),
     "pad_to_max_output_size": k == 20} for k in (3, 20) for s in (0.0, 0.5, -1.0)]))
row("NonMaxSuppressionV2", 0, plain({**boxes(20), "max_output_size": Fed(5, I32), "iou_threshold": Fed(0.3, F32)}))
