#include "graph/placement/baselines.h"

#include <algorithm>

namespace weir {
namespace {

bool MayUse(const StepModel::Unit& unit, int device) {
  return std::find(unit.candidates.begin(), unit.candidates.end(), device) != unit.candidates.end();
}

}  // namespace

UnitPlacement FirstFit(const StepModel& model) {
  UnitPlacement placement;
  for (const StepModel::Unit& unit : model.units) placement.push_back(unit.candidates.front());
  return placement;
}

UnitPlacement OnDevice(const StepModel& model, int device) {
  UnitPlacement placement = FirstFit(model);
  for (size_t i = 0; i < placement.size(); ++i) {
    if (MayUse(model.units[i], device)) placement[i] = device;
  }
  return placement;
}

UnitPlacement SpreadVariablesOf(const StepModel& model, SpreadBy by, int worker) {
  UnitPlacement placement = OnDevice(model, worker);
  VariableSpread spread(by, model.num_devices);
  for (size_t i = 0; i < placement.size(); ++i) {
    const StepModel::Unit& unit = model.units[i];
    if (!unit.is_variable) continue;
    if (unit.candidates.size() == 1) {
      spread.Count(unit.candidates.front(), unit.state);
      continue;
    }
    const int next = spread.Next(unit.state);
    placement[i] = MayUse(unit, next) ? next : unit.candidates.front();
  }
  return placement;
}

}  // namespace weir
