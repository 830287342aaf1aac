// SPDX-License-Identifier: Apache-2.0
/// Bandwidth per node as Prometheus knows it: the query, its answer, and the latest of those, which two threads share.
#pragma once
#include <berth/json.hpp>
#include <berth/types.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace network_traffic {

constexpr std::int64_t k_no_reading = -1;

/// Bytes per second by node name.
using Bandwidths = std::map<std::string, std::int64_t, std::less<>>;

/// What arrives on an interface of each node, in bytes per second over the last minutes.
inline std::string query_text(std::string_view node_label, std::string_view interface, std::int64_t minutes) {
  std::string quoted;
  for (const char c : interface) {
    if (c == '"' || c == '\\') quoted += '\\';
    quoted += c;
  }
  return "sum by (" + std::string(node_label) + ") (rate(node_network_receive_bytes_total{device=\"" + quoted + "\"}[" +
         std::to_string(minutes) + "m]))";
}

/// Reads the answer to an instant query. Throws std::runtime_error for anything but a vector with that label. Series
/// without the label, and values that are no numbers (NaN), are no readings.
inline Bandwidths parse_answer(std::string_view body, std::string_view node_label) {
  const berth::Json answer = berth::Json::parse(body);
  if (!answer["status"].is_string() || answer["status"].string("status") != "success")
    throw std::runtime_error(answer["error"].is_string() ? answer["error"].string("error") : "the query failed");
  const berth::Json& data = answer["data"];
  if (!data["resultType"].is_string() || data["resultType"].string("resultType") != "vector")
    throw std::runtime_error("the answer is no vector");
  Bandwidths bandwidths;
  for (const berth::Json& series : data["result"].array("result")) {
    const berth::Json& node = series["metric"][node_label];
    const auto& value = series["value"].array("value");
    if (!node.is_string() || value.size() != 2 || !value[1].is_string()) continue;
    const double bytes = std::strtod(value[1].string("value").c_str(), nullptr);
    if (std::isfinite(bytes) && bytes >= 0 && bytes < 9e18)
      bandwidths[node.string("node")] = static_cast<std::int64_t>(std::llround(bytes));
  }
  return bandwidths;
}

/// What was read last, or why nothing was. Immutable once it is shared.
struct Reading {
  Bandwidths bandwidths;
  std::int64_t read_ns = 0;  // monotonic
  std::string problem;       // of the last attempt; empty: it succeeded

  std::int64_t of(std::string_view node) const {
    const auto found = bandwidths.find(node);
    return found == bandwidths.end() ? k_no_reading : found->second;
  }
};

/// Threads: any.
class Latest {
 public:
  std::shared_ptr<const Reading> get() const {
    const std::lock_guard lock(mutex_);
    return reading_;
  }
  void replace(Bandwidths bandwidths, std::int64_t now_ns) { put(Reading{std::move(bandwidths), now_ns, {}}); }
  /// Keeps the values: they are good until they are stale.
  void fail(std::string problem) {
    Reading next = *get();
    next.problem = std::move(problem);
    put(std::move(next));
  }

 private:
  void put(Reading next) {
    auto made = std::make_shared<const Reading>(std::move(next));
    const std::lock_guard lock(mutex_);
    reading_ = std::move(made);
  }
  mutable std::mutex mutex_;
  std::shared_ptr<const Reading> reading_ = std::make_shared<const Reading>(Reading{{}, 0, "nothing was read yet"});
};

/// The values of the latest reading by slot, so that score looks nothing up by name.
/// Threads: take() on the scheduling thread; the values are read by scores until the next one.
class BySlot {
 public:
  /// Looks up those nodes that are new since the last time, and all of them when the reading is. names: by slot.
  /// text_of(id): the name.
  template <class TextOf>
  void take(std::shared_ptr<const Reading> reading, std::span<const berth::Slot> nodes, const berth::Id* names,
            std::size_t slots, TextOf&& text_of) {
    if (reading != reading_) values_.clear();
    reading_ = std::move(reading);
    values_.resize(std::max(values_.size(), slots));
    for (const berth::Slot slot : nodes) {
      Value& value = values_[slot];
      if (value.name == names[slot]) continue;
      value = {names[slot], reading_->of(text_of(names[slot]))};
    }
  }
  const Reading& reading() const noexcept { return *reading_; }
  std::int64_t operator[](berth::Slot slot) const noexcept { return values_[slot].bandwidth; }

 private:
  struct Value {
    berth::Id name = 0;
    std::int64_t bandwidth = k_no_reading;
  };
  std::shared_ptr<const Reading> reading_ = std::make_shared<const Reading>();
  std::vector<Value> values_;
};

}  // namespace network_traffic
