// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <cstdint>
#include <string_view>
#include <vector>

#include "framework/services/object_store.hpp"
#include "ingest/ingest.hpp"

namespace berth::scheduler {

/// Objects on their way from the cluster to the plugins. Threads: as the store. The store outlives it.
class StoreFeed : public ingest::ObjectFeed {
 public:
  explicit StoreFeed(framework::ObjectStore& store) : store_(store) {}
  void store(const model::Object& object) override { store_.apply(object); }
  void remove(const model::Object& object) override { store_.remove(object); }
  std::vector<std::uint32_t> watches(std::string_view resource) const override { return store_.watches_of(resource); }

 private:
  framework::ObjectStore& store_;
};

}  // namespace berth::scheduler
