// SPDX-License-Identifier: Apache-2.0
#include "device_counts.hpp"

#include "resource_names.hpp"

namespace berth::node_resources {

namespace dra = devices::dra;

std::unique_ptr<DeviceCounts> DeviceCounts::make(Setup& setup, const std::vector<WeightedResource>& resources) {
  const bool any = std::any_of(resources.begin(), resources.end(), [](const WeightedResource& each) {
    return is_extended(each.name) || each.name.starts_with(devices::k_implied_prefix);
  });
  if (!any || !setup.find_service<Objects>() || !setup.find_service<Log>() || !setup.find_service<Sets>())
    return nullptr;
  return std::unique_ptr<DeviceCounts>(new DeviceCounts(setup, resources));
}

DeviceCounts::DeviceCounts(Setup& setup, const std::vector<WeightedResource>& resources)
    : cluster_(setup), facts_(setup.service<Intern>(), setup.service<Sets>()), resources_(resources.size()) {
  for (std::size_t i = 0; i < resources.size(); ++i) {
    const std::string& name = resources[i].name;
    if (is_extended(name) || name.starts_with(devices::k_implied_prefix)) resources_[i].name = name;
  }
}

bool DeviceCounts::refresh(std::uint32_t slot_count) {
  facts_.prepare(slot_count);
  cluster_.refresh();
  if (version_ == cluster_.version() && !is_unfinished_) return false;
  version_ = cluster_.version();
  // What is known by now takes none of them the next time.
  steps_left_ = dra::k_selector_steps_max;
  is_unfinished_ = false;
  has_learned_ = false;
  const devices::DeviceSnapshot devices = cluster_.snapshot();
  for (Resource& each : resources_) {
    each.device_class = each.name.empty() ? nullptr : cluster_.extended_class(each.name);
    recount(each, devices);
  }
  // What failed is evaluated each time: another look at the same comes further only with what is remembered of this one.
  is_unfinished_ = is_unfinished_ && has_learned_;
  return true;
}

void DeviceCounts::recount(Resource& resource, const devices::DeviceSnapshot& devices) {
  resource.slices.clear();
  resource.on_node.clear();
  resource.elsewhere.clear();
  if (resource.device_class == nullptr) return;
  std::vector<std::shared_ptr<const cel::Program>> selectors;  // null: one that does not compile
  dra::SelectorBudget budget;
  for (const std::optional<std::string>& text : resource.device_class->device_class.selectors)
    selectors.push_back(text ? budget.prepare(*text, cluster_.programs()).program : nullptr);
  for (const auto& slice : devices.inventory->all()) {
    const std::string& node = slice->object().nodes.node_name;
    (node.empty() ? resource.elsewhere : resource.on_node[node]).push_back(resource.slices.size());
    resource.slices.push_back(count(slice, selectors, *devices.state));
  }
}

DeviceCounts::SliceCount DeviceCounts::count(const std::shared_ptr<const dra::PreparedSlice>& slice,
                                             const std::vector<std::shared_ptr<const cel::Program>>& selectors,
                                             const dra::AllocatedState& state) {
  SliceCount made{slice, false, {}};
  for (const dra::PreparedDevice& device : slice->devices()) {
    bool suits = true;
    for (const auto& selector : selectors) {
      std::uint8_t known = dra::DeviceContent::unknown;
      if (selector != nullptr) known = device.content->verdict(selector->serial());
      if (selector != nullptr && known == dra::DeviceContent::unknown) {
        if (steps_left_ == 0) {
          is_unfinished_ = true;
        } else {
          const cel::Outcome outcome = evaluator_.evaluate(*selector, device.content->device(), {});
          steps_left_ -= std::min(steps_left_, outcome.steps);
          known = dra::DeviceContent::verdict_of(outcome);
          if (known != dra::DeviceContent::unknown) {
            device.content->remember(selector->serial(), known);
            has_learned_ = true;
          }
        }
      }
      made.fails = made.fails || (known != dra::DeviceContent::yes && known != dra::DeviceContent::no);
      suits = suits && known == dra::DeviceContent::yes;
      if (!suits) break;
    }
    if (suits) made.devices.push_back({&device, state.is_allocated(device.id)});
  }
  return made;
}

DeviceCount DeviceCounts::of(std::size_t resource, Slot slot, Id name, Id label_set) {
  const Resource& its = resources_[resource];
  const devices::NodeFacts::Entry& facts = facts_.of(slot, name, label_set, nullptr);
  DeviceCount sum;
  bool is_good = true;
  if (const auto on_node = its.on_node.find(facts.node.name); on_node != its.on_node.end())
    for (const std::size_t place : on_node->second) is_good = is_good && add(its.slices[place], *facts.labels, sum);
  for (const std::size_t place : its.elsewhere) is_good = is_good && add(its.slices[place], *facts.labels, sum);
  return is_good ? sum : DeviceCount{};
}

bool DeviceCounts::add(const SliceCount& slice, const dra::NodeLabels& node, DeviceCount& to) {
  const dra::Slice& object = slice.slice->object();
  // One that says nothing about nodes is seen by all here.
  if (!object.nodes.node_name.empty() || object.nodes.all_nodes || object.nodes.selector) {
    if (!slice.slice->nodes().error().empty()) return false;
    if (!slice.slice->nodes().matches(node)) return true;
  }
  if (slice.fails) return false;
  for (const Matching& each : slice.devices) {
    if (each.device->nodes != nullptr) {
      if (!each.device->nodes->error().empty()) return false;
      if (!each.device->nodes->matches(node)) continue;
    }
    ++to.devices;
    to.allocated += each.is_allocated ? 1 : 0;
  }
  return true;
}

}  // namespace berth::node_resources
