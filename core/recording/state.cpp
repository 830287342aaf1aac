// SPDX-License-Identifier: Apache-2.0
#include "recording/state.hpp"

namespace berth::recording {

void State::clear() {
  nodes_.clear();
  node_places_.clear();
  placed_.clear();
  waiting_.clear();
  waiting_with_node_.clear();
  objects_.clear();
  nominations_.reset();
  is_complete_ = is_being_read_ = is_too_large_ = false;
  held_.clear();
}

void State::apply(const Record& record) {
  if (!held_.take(record)) {
    clear();
    is_too_large_ = true;
    return;
  }
  switch (record.kind) {
    case Kind::gap:
      is_complete_ = is_being_read_ = false;
      return;
    case Kind::state_begins:
      clear();
      is_being_read_ = true;
      return;
    case Kind::state_ends:
      is_complete_ = is_complete_ || is_being_read_;
      is_being_read_ = false;
      return;
    case Kind::node: {
      const auto [place, is_new] = node_places_.emplace(record.node->name, next_place_);
      if (is_new) ++next_place_;
      nodes_[place->second] = record.node;
      return;
    }
    case Kind::node_gone:
      if (const auto place = node_places_.find(record.text); place != node_places_.end()) {
        nodes_.erase(place->second);
        node_places_.erase(place);
      }
      return;
    case Kind::placed_pod: {
      const std::string uid = record.pod->uid;
      waiting_.erase(uid);
      placed_[uid] = {record.pod, record.text};
      return pod_changed(uid);
    }
    case Kind::placed_pod_gone:
    case Kind::given_back:
      placed_.erase(record.text);
      return pod_changed(record.text);
    case Kind::waiting_pod:
      waiting_[record.pod->uid] = record.pod;
      return pod_changed(record.pod->uid);
    case Kind::waiting_pod_gone:
      waiting_.erase(record.text);
      return pod_changed(record.text);
    case Kind::object:
      objects_[{record.object->resource, record.object->ns, record.object->name}] = record.object;
      return;
    case Kind::object_gone:
      objects_.erase({record.object->resource, record.object->ns, record.object->name});
      return;
    case Kind::attempt:
      if (record.text.empty()) return;
      placed_[record.pod->uid] = {record.pod, record.text};
      return pod_changed(record.pod->uid);
    case Kind::nominations:
      nominations_ = record.nominations;
      return;
    case Kind::description:
    case Kind::clock:
    case Kind::look:
    case Kind::write:
    case Kind::plugin_times:
      return;
  }
}

void State::pod_changed(const std::string& uid) {
  if (waiting_.contains(uid) && placed_.contains(uid))
    waiting_with_node_.insert(uid);
  else
    waiting_with_node_.erase(uid);
}

std::vector<Record> State::records(std::int64_t at_ns) const {
  std::vector<Record> out;
  const auto add = [&](Kind kind) -> Record& {
    Record& record = out.emplace_back();
    record.kind = kind;
    record.at_ns = at_ns;
    return record;
  };
  add(Kind::state_begins);
  for (const auto& [place, node] : nodes_) add(Kind::node).node = node;
  for (const auto& [name, object] : objects_) add(Kind::object).object = object;
  for (const auto& [uid, placed] : placed_) {
    Record& record = add(Kind::placed_pod);
    record.pod = placed.pod;
    record.text = placed.assumed_on;
  }
  for (const auto& [uid, pod] : waiting_)
    if (!waiting_with_node_.contains(uid)) add(Kind::waiting_pod).pod = pod;
  if (nominations_) add(Kind::nominations).nominations = nominations_;
  add(Kind::state_ends);
  return out;
}

}  // namespace berth::recording
