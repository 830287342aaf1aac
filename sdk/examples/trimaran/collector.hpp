// SPDX-License-Identifier: Apache-2.0
/// Asks Prometheus for the load of all nodes at once, every half minute, on a thread of the executor: no decision waits for it.
///
/// Threads: the task writes under a lock; follow() and at() belong to the thread of the cycle. Errors: what cannot be had leaves the
///          last reading as it was, and stands in the log.
#pragma once
#include <berth/plugin.hpp>

#include <chrono>
#include <memory>
#include <mutex>
#include <vector>

#include "../http_client/http_client.hpp"
#include "loads.hpp"

namespace trimaran {

/// Immutable once it is shared.
struct Reading {
  Loads loads;
  std::int64_t read_ns = 0;  ///< wall clock; 0: nothing was read yet
};

class Collector {
 public:
  static constexpr std::uint32_t k_period_ms = 30'000;

  /// series: which queries are asked.
  Collector(berth::Setup& setup, const berth::Json& args, std::vector<Series> series)
      : intern_(setup.service<berth::Intern>()),
        clock_(setup.service<berth::Clock>()),
        columns_(setup.service<berth::NodeColumns>()),
        log_(setup.find_service<berth::Log>()),
        names_(setup.name()),
        prometheus_(address_of(args["metricProvider"])),
        node_label_(args["nodeLabel"].string_or("nodeLabel", "instance")),
        series_(std::move(series)) {
    const auto executor = setup.service<berth::Executor>();
    if (executor.submit(&ask, this) != BERTH_OK || executor.every(k_period_ms, &ask, this) != BERTH_OK)
      throw berth::Failure("the host does not take the task");
  }
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  /// Brings at() up to date: a look-up by name for each node when the reading is new or nodes have changed, else none.
  void follow(const berth::Cycle& cycle) {
    std::shared_ptr<const Reading> latest = this->latest();
    const std::uint64_t facts = columns_.facts(cycle);
    if (latest == reading_ && facts != 0 && facts == facts_) return;
    reading_ = std::move(latest);
    facts_ = facts;
    const berth::Id* const names = columns_.column(cycle, names_);
    by_slot_.assign(cycle.slot_count(), nullptr);
    for (berth::Slot slot = 0; slot < by_slot_.size(); ++slot) {
      if ((cycle.nodes()[slot / 64] >> (slot % 64) & 1) == 0) continue;
      const auto found = reading_->loads.find(intern_.text(names[slot]));
      if (found != reading_->loads.end()) by_slot_[slot] = &found->second;
    }
  }
  /// As of the last follow(). Null: Prometheus knows no such node.
  const Load* at(berth::Slot slot) const noexcept { return slot < by_slot_.size() ? by_slot_[slot] : nullptr; }
  const Reading& reading() const noexcept { return *reading_; }
  std::int64_t now_ns() const noexcept { return clock_.wall_ns(); }

 private:
  static http::Url address_of(const berth::Json& provider) {
    try {
      return http::Url::parse(provider["address"].string("metricProvider.address"));
    } catch (const http::Failure& problem) {
      throw berth::BadArgs(std::string("metricProvider.address: ") + problem.what());
    }
  }
  std::shared_ptr<const Reading> latest() const {
    const std::lock_guard lock(mutex_);
    return latest_;
  }
  static void ask(void* self) { static_cast<Collector*>(self)->ask(); }
  void ask() {
    try {
      auto next = std::make_shared<Reading>();
      for (const Series series : series_) {
        const http::Answer answer =
            http::exchange("GET", prometheus_, "/api/v1/query?query=" + http::percent_encode(query_of(series)), {},
                           std::chrono::milliseconds(5000));
        // An error of the query stands in the body, whatever the status.
        take_answer(answer.body, node_label_, series, next->loads);
      }
      next->read_ns = now_ns();
      const std::lock_guard lock(mutex_);
      latest_ = std::move(next);
    } catch (const std::exception& problem) {
      if (log_) log_->write(BERTH_LOG_ERROR, std::string("load of nodes: ") + problem.what());
    }
  }

  berth::Intern intern_;
  berth::Clock clock_;
  berth::NodeColumns columns_;
  std::optional<berth::Log> log_;
  berth::IdColumn names_;
  http::Url prometheus_;
  std::string node_label_;
  std::vector<Series> series_;
  mutable std::mutex mutex_;  ///< guards latest_
  std::shared_ptr<const Reading> latest_ = std::make_shared<const Reading>();
  std::shared_ptr<const Reading> reading_ = latest_;  ///< by_slot_ points into it
  std::uint64_t facts_ = 0;
  std::vector<const Load*> by_slot_;
};

}  // namespace trimaran
