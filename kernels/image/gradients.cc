// Gradients of resized and cropped images.
#include "graph/gradients/gradient_context.h"
#include "kernels/image/family.h"

namespace weir {
namespace {

using G = GradientContext;

std::vector<G::AttrSetter> ResizeAttrs(G& g) {
  return {G::Set("align_corners", g.Attr<bool>("align_corners")),
          G::Set("half_pixel_centers", g.Attr<bool>("half_pixel_centers"))};
}
template <const char* kGrad>
absl::Status Resize(G& g) {
  if (!IsFloating(g.input(0).type())) return absl::OkStatus();
  g.set_grad(0, g.Call(kGrad, {g.dy(), g.input(0)}, ResizeAttrs(g)));
  return absl::OkStatus();
}
constexpr char kBilinearGrad[] = "ResizeBilinearGrad", kBicubicGrad[] = "ResizeBicubicGrad";

Output Sizes(G& g, const Output& image) {
  return g.Call("StridedSlice", {g.Call("Shape", {image}), Tensor::Vector<int32_t>({1}), Tensor::Vector<int32_t>({3}),
                                 Tensor::Vector<int32_t>({1})});
}
absl::Status ResizeNearest(G& g) {
  g.set_grad(0, g.Call("ResizeNearestNeighborGrad", {g.dy(), Sizes(g, g.input(0))}, ResizeAttrs(g)));
  return absl::OkStatus();
}
absl::Status ResizeBilinearGrad(G& g) {
  g.set_grad(0, g.Call("ResizeBilinear", {g.dy(), Sizes(g, g.input(0))}, ResizeAttrs(g)));
  return absl::OkStatus();
}

absl::Status CropAndResize(G& g) {
  const Output image = g.input(0), boxes = g.input(1), box_image = g.input(2), dy = g.dy();
  const G::AttrSetter method = G::Set("method", g.Attr<std::string>("method"));
  if (IsFloating(image.type())) {
    g.set_grad(0, g.Call("CropAndResizeGradImage", {dy, boxes, box_image, g.Call("Shape", {image})},
                         {method, G::Set("T", image.type())}));
  }
  g.set_grad(1, g.Call("CropAndResizeGradBoxes", {dy, image, boxes, box_image}));
  return absl::OkStatus();
}

}  // namespace

absl::Status RegisterImageGradients(OpRegistry& ops) {
  const std::pair<const char*, GradientFn> kGradients[] = {
      {"ResizeBilinear", Resize<kBilinearGrad>}, {"ResizeBicubic", Resize<kBicubicGrad>},
      {"ResizeNearestNeighbor", ResizeNearest},  {"ResizeBilinearGrad", ResizeBilinearGrad},
      {"CropAndResize", CropAndResize},
  };
  for (const auto& [op, fn] : kGradients) RETURN_IF_ERROR(ops.RegisterGradient(op, fn));
  return absl::OkStatus();
}

}  // namespace weir
