// SPDX-License-Identifier: Apache-2.0
#include "app/recording/recording_feed.hpp"

#include <memory>

namespace berth::app {

using recording::Kind;
using recording::Record;

void RecordingFeed::wait(const model::PodPtr& pod) {
  const std::string uid = pod->uid;
  if (!responsible_(pod->scheduler_name)) return place(pod, {});
  waited_.insert(uid);
  names_[uid] = {pod->ns.get(), pod->name};
  const model::PodPtr known = cluster_.find_pod(pod->ns, pod->name);
  if (known != nullptr && known->uid == pod->uid && known->node_name != k_no_symbol) return;  // it is decided here
  auto waiting = std::make_shared<model::Pod>(*pod);
  waiting->nominated_node = known != nullptr && known->uid == pod->uid ? known->nominated_node : k_no_symbol;
  cluster_.put_pod(std::move(waiting));
}

void RecordingFeed::place(const model::PodPtr& pod, const std::string& node) {
  const std::string uid = pod->uid;
  if (waited_.contains(uid)) return;
  names_[uid] = {pod->ns.get(), pod->name};
  if (node.empty()) return cluster_.put_pod(pod);
  auto placed = std::make_shared<model::Pod>(*pod);
  placed->node_name = symbols_.intern(node);
  cluster_.put_pod(std::move(placed));
}

void RecordingFeed::remove_pod(const std::string& uid) {
  const auto name = names_.find(uid);
  if (name == names_.end()) return;
  const model::PodPtr known = cluster_.find_pod(name->second.first, name->second.second);
  if (known != nullptr && known->uid == uid && !evicted_.contains(uid))
    cluster_.remove_pod(name->second.first, name->second.second);
  waited_.erase(uid);
  names_.erase(name);
}

bool RecordingFeed::take(const Record& record, bool begins_run) {
  if (begins_run) is_known_ = true;
  if (record.kind == Kind::gap) {
    // Before anything came in, nothing of it is wrong: a whole state may follow.
    if (has_begun_) return false;
    is_known_ = false;
    before_.clear();
    return true;
  }
  if (record.kind == Kind::description || record.kind == Kind::clock) return true;
  if (record.kind == Kind::state_begins && !has_begun_) is_known_ = false;  // a cut begins with the whole cluster
  if (!is_known_) {
    before_.apply(record);
    if (!before_.is_complete()) return true;
    is_known_ = has_begun_ = true;
    for (const Record& known : before_.records(record.at_ns)) apply(known);
    before_.clear();
    return true;
  }
  has_begun_ = true;
  if (record.kind == Kind::state_begins) skips_state_ = true;
  if (record.kind == Kind::state_ends) skips_state_ = false;
  if (!skips_state_) apply(record);
  return true;
}

void RecordingFeed::apply(const Record& record) {
  switch (record.kind) {
    case Kind::node:
      return cluster_.put_node(record.node);
    case Kind::node_gone:
      cluster_.remove_node(record.text);
      return;
    case Kind::placed_pod:
      return place(record.pod, record.text);
    case Kind::placed_pod_gone:
    case Kind::waiting_pod_gone:
      return remove_pod(record.text);
    case Kind::waiting_pod:
      return wait(record.pod);
    case Kind::object:
      return cluster_.put_object(record.object);
    case Kind::object_gone:
      cluster_.remove_object(record.object->resource, record.object->ns, record.object->name);
      return;
    case Kind::write:
      if (record.written->what == "evict" && record.written->error.empty()) evicted_.insert(record.written->uid);
      return;
    case Kind::description:
    case Kind::clock:
    case Kind::gap:
    case Kind::look:
    case Kind::attempt:
    case Kind::given_back:
    case Kind::nominations:
    case Kind::state_begins:
    case Kind::state_ends:
    case Kind::plugin_times:
      return;
  }
}

}  // namespace berth::app
