// SPDX-License-Identifier: Apache-2.0
#include "withheld.hpp"

#include "objects/json_text.hpp"

namespace devices {
namespace {

using berth::Json;

std::optional<Json> parsed_if_possible(std::string_view text) {
  try {
    return Json::parse(text);
  } catch (const berth::JsonError&) {
    return std::nullopt;
  }
}

}  // namespace

std::shared_ptr<const AllocationObject> read_allocation_partly(std::string_view status) {
  auto made = std::make_shared<AllocationObject>();
  if (status.empty()) return nullptr;
  const TextPart allocation = member_of(status, "allocation");
  if (!allocation.is_known) {
    made->withheld.emplace_back();
    return made;
  }
  if (allocation.text.empty() || allocation.text == "null") return nullptr;
  const TextPart selector = member_of(allocation.text, "nodeSelector");
  std::optional<Json> nodes;
  if (selector.is_known) nodes = selector.text.empty() ? Json() : parsed_if_possible(selector.text);
  const Withheld unknown = nodes ? withheld_on(*nodes) : Withheld();
  const TextPart devices = member_of(allocation.text, "devices");
  const TextPart results = member_of(devices.text, "results");
  if (!devices.is_known || !results.is_known) {
    made->withheld.push_back(unknown);
    return made;
  }
  if (results.text.empty()) return made;
  const bool is_whole = each_part(results.text, [&](std::string_view, std::string_view item) {
    const std::optional<Json> result = parsed_if_possible(item);
    if (result) return add_result(*result, unknown, *made);
    Withheld entry = unknown;
    const auto name = [&](std::string_view key) {
      const std::optional<Json> text = parsed_if_possible(member_of(item, key).text);
      return text && text->is_string() ? text->string(key) : std::string();
    };
    entry.driver = name("driver");
    entry.pool = name("pool");
    entry.device = name("device");
    made->withheld.push_back(std::move(entry));
  });
  if (!is_whole) made->withheld.push_back(unknown);
  return made;
}

bool withholds(const Withheld& entry, const dra::Slice& slice, std::string_view device) {
  const auto may_be = [](const std::string& known, std::string_view is) { return known.empty() || known == is; };
  if (!may_be(entry.driver, slice.driver) || !may_be(entry.pool, slice.pool) || !may_be(entry.device, device))
    return false;
  const std::string& at = slice.nodes.node_name;
  if (!entry.driver.empty() && !entry.pool.empty()) return true;  // a pool's name says more than nodes do
  return at.empty() || entry.nodes == Withheld::Nodes::any || (entry.nodes == Withheld::Nodes::one && entry.node == at);
}

}  // namespace devices
