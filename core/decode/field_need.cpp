// SPDX-License-Identifier: Apache-2.0
#include "decode/field_need.hpp"

#include <algorithm>
#include <utility>

namespace berth::decode {
namespace {

bool is_set(const text::Value& value) noexcept {
  if (value.is_null()) return false;
  if (value.is_string()) return !value.text().empty();
  if (value.is_sequence()) return !value.elements().empty();
  return true;
}

}  // namespace

FieldNeeds::FieldNeeds(std::vector<model::FieldNeed> needs) {
  for (model::FieldNeed& need : needs) {
    Need out{std::move(need.plugin), need.all_of.empty() ? std::string() : need.all_of.front().path, {}};
    for (model::FieldCondition& test : need.all_of) {
      Test steps{{}, std::move(test.equals)};
      for (std::size_t at = 0; at <= test.path.size();) {
        const std::size_t end = std::min(test.path.find('.', at), test.path.size());
        std::string name = test.path.substr(at, end - at);
        const bool each = name.size() > 2 && name.compare(name.size() - 2, 2, "[]") == 0;
        if (each) name.resize(name.size() - 2);
        steps.steps.push_back({std::move(name), each});
        at = end + 1;
      }
      out.all_of.push_back(std::move(steps));
    }
    needs_.push_back(std::move(out));
  }
}

bool FieldNeeds::holds(const text::Value& value, const Test& test, std::size_t step) {
  if (step == test.steps.size()) return is_set(value) && (!test.equals || value.text() == *test.equals);
  const text::Value* next = value.find(test.steps[step].name);
  if (next == nullptr) return false;
  if (!test.steps[step].each) return holds(*next, test, step + 1);
  const auto elements = next->elements();
  return std::any_of(elements.begin(), elements.end(),
                     [&](const text::Value& element) { return holds(element, test, step + 1); });
}

std::vector<model::PodSpec::Unsupported> FieldNeeds::of(const text::Value& pod) const {
  std::vector<model::PodSpec::Unsupported> out;
  for (const Need& need : needs_) {
    const auto is_known = [&](const model::PodSpec::Unsupported& known) { return known.plugin == need.plugin; };
    if (need.all_of.empty() || std::any_of(out.begin(), out.end(), is_known)) continue;
    if (std::all_of(need.all_of.begin(), need.all_of.end(), [&](const Test& test) { return holds(pod, test, 0); }))
      out.push_back({need.plugin, need.field});
  }
  return out;
}

}  // namespace berth::decode
