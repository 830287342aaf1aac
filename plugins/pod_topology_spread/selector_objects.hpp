// SPDX-License-Identifier: Apache-2.0
/// Services, and the controllers that select pods, with what they select.
/// Threads: [any] but for what Objects says otherwise; parsed selectors are the caller's to keep.
#pragma once
#include <berth/names.hpp>
#include <berth/plugin.hpp>

#include <optional>
#include <string>
#include <vector>

namespace berth::pod_topology_spread {

/// Requirements read from an object, with their ids pinned while they are kept.
class ParsedSelector {
 public:
  struct Part {
    Id key = 0;
    std::uint32_t op = 0;
    std::vector<Id> values;
  };

  ParsedSelector() = default;
  ParsedSelector(ParsedSelector&&) noexcept = default;
  ParsedSelector& operator=(ParsedSelector&& other) noexcept {
    std::swap(parts_, other.parts_);
    std::swap(pins_, other.pins_);
    return *this;
  }
  ~ParsedSelector() {
    for (const Part& part : parts_) {
      if (!pins_) break;
      pins_->unpin(part.key);
      for (const Id value : part.values) pins_->unpin(value);
    }
  }

  /// {"app": "web"}: equality of every pair, not validated.
  static ParsedSelector of_map(std::string_view json, Intern intern) {
    ParsedSelector parsed(intern);
    const Json pairs = Json::parse(json);
    for (const auto& [key, value] : pairs.members())
      if (value.is_string()) parsed.add(key, BERTH_OP_IN, {value.string(key)}, intern);
    return parsed;
  }
  /// A metav1.LabelSelector. Empty when it does not parse.
  static ParsedSelector of_label_selector(std::string_view text, Intern intern) {
    ParsedSelector parsed(intern);
    const Json json = Json::parse(text);
    for (const auto& [key, value] : json["matchLabels"].members())
      if (!parsed.add_valid(key, "In", {value.string_or(key, "")}, intern)) return {};
    for (const Json& each : json["matchExpressions"].items()) {
      std::vector<std::string> values;
      for (const Json& value : each["values"].items()) values.push_back(value.string_or("values", ""));
      if (!parsed.add_valid(each["key"].string_or("key", ""), each["operator"].string_or("operator", ""), values,
                            intern))
        return {};
    }
    return parsed;
  }

  const std::vector<Part>& parts() const noexcept { return parts_; }
  /// What it keeps in memory, the texts of its ids included.
  std::size_t bytes(Intern intern) const {
    constexpr std::size_t k_id_bytes = 80;  // of an id that is pinned, without its text
    std::size_t bytes = 0;
    for (const Part& part : parts_) {
      bytes += sizeof(Part) + k_id_bytes + intern.text(part.key).size();
      for (const Id value : part.values) bytes += sizeof(Id) + k_id_bytes + intern.text(value).size();
    }
    return bytes;
  }
  bool matches(std::span<const Label> labels) const noexcept {
    return std::all_of(parts_.begin(), parts_.end(),
                       [&](const Part& p) { return find_label(labels, p.key) == p.values.front(); });
  }

 private:
  explicit ParsedSelector(Intern intern) : pins_(intern) {}

  void add(const std::string& key, std::uint32_t op, const std::vector<std::string>& values, Intern intern) {
    Part part{intern.for_cycle(key), op, {}};
    intern.pin(part.key);
    for (const std::string& value : values) {
      part.values.push_back(intern.for_cycle(value));
      intern.pin(part.values.back());
    }
    parts_.push_back(std::move(part));
  }
  bool add_valid(const std::string& key, std::string_view op, const std::vector<std::string>& values, Intern intern) {
    const bool lists = op == "In" || op == "NotIn";
    if (!lists && op != "Exists" && op != "DoesNotExist") return false;
    if (lists == values.empty() || !qualified_name_problems(key).empty()) return false;
    for (const std::string& value : values)
      if (!label_value_problems(value).empty()) return false;
    add(key,
        op == "In"       ? BERTH_OP_IN
        : op == "NotIn"  ? BERTH_OP_NOT_IN
        : op == "Exists" ? BERTH_OP_EXISTS
                         : BERTH_OP_DOES_NOT_EXIST,
        values, intern);
    return true;
  }

  std::vector<Part> parts_;
  std::optional<Intern> pins_;
};

class SelectorObjects {
 public:
  enum Kind : std::size_t { services, replication_controllers, replica_sets, stateful_sets };
  static constexpr const char* k_resources[] = {"core/v1/services", "core/v1/replicationcontrollers",
                                                "apps/v1/replicasets", "apps/v1/statefulsets"};

  /// `kinds`: how many of them, from the first, are watched.
  explicit SelectorObjects(Setup& setup, std::size_t kinds = std::size(k_resources))
      : intern_(setup.service<Intern>()), objects_(setup.service<Objects>()) {
    const berth_field_v1 selector{borrow("spec.selector"), BERTH_FIELD_JSON, 0};
    for (std::size_t kind = 0; kind < kinds; ++kind)
      watches_[kind] = objects_.watch(k_resources[kind], std::span<const berth_field_v1>(&selector, 1));
  }

  Intern intern() const noexcept { return intern_; }
  /// Changes when an object of the kind does.
  std::uint64_t epoch(Kind kind) const { return objects_.epoch(watches_[kind]); }
  /// Visits those of the namespace that have a selector, by name: visit(object).
  template <class Visit>
  void each(Kind kind, Id ns, Visit&& visit) const {
    objects_.each(watches_[kind], intern_.text(ns), [&](const berth_object_v1& object) {
      if (has_selector(object)) visit(object);
    });
  }
  /// The same for the one of that name.
  template <class Visit>
  void get(Kind kind, std::string_view ns, std::string_view name, Visit&& visit) const {
    objects_.get(watches_[kind], ns, name, [&](const berth_object_v1& object) {
      if (has_selector(object)) visit(object);
    });
  }
  static constexpr bool is_map(Kind kind) noexcept { return kind == services || kind == replication_controllers; }
  ParsedSelector parse(Kind kind, const berth_object_v1& object) const {
    const std::string_view text = view(object.values[0].text);
    return is_map(kind) ? ParsedSelector::of_map(text, intern_) : ParsedSelector::of_label_selector(text, intern_);
  }

 private:
  static bool has_selector(const berth_object_v1& object) noexcept {
    return object.value_count != 0 && object.values[0].present != 0 && view(object.values[0].text) != "null";
  }

  Intern intern_;
  Objects objects_;
  std::uint32_t watches_[std::size(k_resources)] = {};
};

}  // namespace berth::pod_topology_spread
