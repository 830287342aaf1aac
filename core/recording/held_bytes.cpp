// SPDX-License-Identifier: Apache-2.0
#include "recording/held_bytes.hpp"

#include <utility>

namespace berth::recording {
namespace {

constexpr std::size_t k_entry_bytes = 256;  // in the tables of a cluster and here

std::string key_of(char kind, const std::string& name) { return kind + name; }
std::string key_of(const model::Object& object) {
  return key_of('o', object.resource + '\0' + object.ns + '\0' + object.name);
}

}  // namespace

void HeldBytes::put(std::string key, std::size_t bytes) {
  bytes += k_entry_bytes + 2 * key.size();
  std::size_t& held = bytes_of_[std::move(key)];
  bytes_ += bytes - std::exchange(held, bytes);
}

void HeldBytes::remove(const std::string& key) {
  const auto found = bytes_of_.find(key);
  if (found == bytes_of_.end()) return;
  bytes_ -= found->second;
  bytes_of_.erase(found);
}

bool HeldBytes::take(const Record& record) {
  switch (record.kind) {
    case Kind::node:
      put(key_of('n', record.node->name), record.bytes);
      break;
    case Kind::node_gone:
      remove(key_of('n', record.text));
      break;
    case Kind::attempt:
      if (!record.text.empty()) put(key_of('p', record.pod->uid), record.bytes);
      break;
    case Kind::placed_pod:
      remove(key_of('w', record.pod->uid));
      put(key_of('p', record.pod->uid), record.bytes);
      break;
    case Kind::placed_pod_gone:
    case Kind::given_back:
      remove(key_of('p', record.text));
      break;
    case Kind::waiting_pod:
      put(key_of('w', record.pod->uid), record.bytes);
      break;
    case Kind::waiting_pod_gone:
      remove(key_of('w', record.text));
      break;
    case Kind::object:
      put(key_of(*record.object), record.bytes);
      break;
    case Kind::object_gone:
      remove(key_of(*record.object));
      break;
    case Kind::nominations:
      put("m", record.bytes);
      break;
    case Kind::description:
    case Kind::clock:
    case Kind::gap:
    case Kind::look:
    case Kind::write:
    case Kind::state_begins:
    case Kind::state_ends:
    case Kind::plugin_times:
      break;
  }
  return bytes_ <= k_bytes_max;
}

void HeldBytes::clear() noexcept {
  bytes_of_.clear();
  bytes_ = 0;
}

std::string HeldBytes::limit() { return std::to_string(k_bytes_max >> 20) + " MiB"; }

}  // namespace berth::recording
