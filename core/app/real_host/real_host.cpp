// SPDX-License-Identifier: Apache-2.0
// The simulation behind the C functions of berth/testkit/real_host.h, a shared library of the SDK.
#include <spdlog/fmt/fmt.h>

#include <chrono>
#include <cstring>
#include <deque>
#include <sstream>

#include "app/plugins/decode_retention.hpp"
#include "app/plugins/plugin_library.hpp"
#include "app/simulate/simulation.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "cluster/embedded/manifest_reader.hpp"
#include "config/resolve.hpp"
#include "report/decision.hpp"

// All else in the library is hidden.
#pragma GCC visibility push(default)
#include "berth/testkit/real_host.h"
#pragma GCC visibility pop

namespace {

using namespace berth;

constexpr std::int64_t k_usual_wall_ns = 1'767'225'600'000'000'000;  // 2026-01-01T00:00:00Z
constexpr std::size_t k_decisions_max = 1'000'000;

void say(char** error, const std::string& text) noexcept {
  if (error != nullptr) *error = ::strndup(text.data(), text.size());
}

/// A decision and the texts that its struct points to.
struct Kept {
  report::Decision decision;
  std::string pod, json;
  std::vector<const char*> victims;
  berth_real_host_decision shown{};
};

}  // namespace

struct berth_real_host {
  /// Throws std::runtime_error with all that is wrong.
  explicit berth_real_host(const berth_real_host_options& options) {
    text::Diagnostics problems;
    const config::RawConfiguration raw = options.configuration == nullptr
                                             ? config::load_defaults()
                                             : config::load(options.configuration, "configuration", problems);
    plugins_ = app::load_plugins(raw, options.plugin_directory == nullptr ? "" : options.plugin_directory);
    if (!plugins_.ok()) throw std::runtime_error(plugins_.report.render());
    configuration_ = config::resolve(raw, plugins_.catalog(), config::AbsentPlugins::embedded(), problems);
    if (!problems.empty()) throw std::runtime_error(problems.render());
    app::Simulation::Options how;
    how.explain_all = true;
    how.record_writes = false;
    how.start_wall_ns = options.wall_ns == 0 ? k_usual_wall_ns : options.wall_ns;
    auto made = app::Simulation::make(symbols_, configuration_, plugins_, how);
    if (!made.ok()) throw std::runtime_error(made.error().render());
    simulation_ = std::move(*made);
  }

  void apply(const char* text) {
    std::istringstream input{std::string(text)};
    const scheduler::SchedulerViews views = simulation_->scheduler().views();
    cluster::ManifestOptions options;
    options.decode = app::decode_options(configuration_, views.framework);
    options.decode.watched = views.objects.resources();
    options.decode.watched.emplace_back(cluster::k_claim_templates);
    options.now_ns = simulation_->clock().wall_ns();
    options.standard_input = &input;
    text::Diagnostics problems;
    const cluster::Manifests manifests = cluster::read_manifests({"-"}, symbols_, options, problems);
    if (!problems.empty()) throw std::runtime_error(problems.render());
    cluster::in_list_order(manifests, [&](const decode::Decoded& object) { simulation_->cluster().put(object); });
  }

  bool remove(std::string_view resource, std::string_view ns, std::string_view name) {
    if (resource == "pods") return simulation_->cluster().remove_pod(ns, name);
    if (resource == "nodes") return simulation_->cluster().remove_node(name);
    return simulation_->cluster().remove_object(resource, ns, name);
  }

  void advance(std::int64_t duration_ns) {
    if (duration_ns < 0) throw std::runtime_error(fmt::format("time cannot go back by {} ns", -duration_ns));
    const auto watcher = [this](report::Decision decision) { keep(std::move(decision)); };
    simulation_->run_until_idle(watcher);
    if (duration_ns > 0) simulation_->advance(std::chrono::nanoseconds(duration_ns), watcher);
  }

  const char* node_of(std::string_view ns, std::string_view name) {
    const model::PodPtr pod = simulation_->cluster().find_pod(ns, name);
    if (pod == nullptr) return nullptr;
    node_ = pod->node_name == k_no_symbol ? "" : symbols_.text(pod->node_name);
    return node_.c_str();
  }

  std::deque<Kept> decisions;

 private:
  void keep(report::Decision decision) {
    if (decisions.size() >= k_decisions_max)
      throw std::runtime_error(fmt::format("{} decisions are kept: forget those that were read", k_decisions_max));
    Kept& kept = decisions.emplace_back();
    report::append_decision(kept.json, decision, true);
    kept.pod = decision.pod->key();
    kept.decision = std::move(decision);
    const report::Decision& d = kept.decision;
    for (const std::string& victim : d.victims.get()) kept.victims.push_back(victim.c_str());
    kept.shown = {sizeof(berth_real_host_decision),
                  d.evaluated_nodes,
                  d.feasible_nodes,
                  static_cast<std::uint32_t>(kept.victims.size()),
                  simulation_->clock().wall_ns(),
                  kept.pod.c_str(),
                  d.node.get().c_str(),
                  d.message.get().c_str(),
                  d.post_filter_message.get().c_str(),
                  d.nominated_node.get().c_str(),
                  kept.victims.data(),
                  kept.json.c_str()};
  }

  SymbolTable symbols_;
  app::PluginLibrary plugins_;
  config::Configuration configuration_;
  std::unique_ptr<app::Simulation> simulation_;
  std::string node_;
};

namespace {

/// What `step` gives; what it throws is the error.
template <typename Step>
bool guarded(char** error, Step&& step) noexcept {
  if (error != nullptr) *error = nullptr;
  try {
    step();
    return true;
  } catch (const std::exception& thrown) {
    say(error, thrown.what());
  } catch (...) {
    say(error, "an exception of an unknown type");
  }
  return false;
}

}  // namespace

extern "C" {

berth_real_host* berth_real_host_new(const berth_real_host_options* options, char** error) {
  berth_real_host* out = nullptr;
  guarded(error, [&] {
    if (options == nullptr || options->struct_size < sizeof(berth_real_host_options) || options->reserved != 0)
      throw std::runtime_error("options are of another version of the library");
    out = new berth_real_host(*options);
  });
  return out;
}

void berth_real_host_free(berth_real_host* host) { delete host; }

void berth_real_host_free_text(char* text) { ::free(text); }

int berth_real_host_apply(berth_real_host* host, const char* manifests, char** error) {
  return guarded(error, [&] { host->apply(manifests); }) ? 0 : -1;
}

int berth_real_host_remove(berth_real_host* host, const char* resource, const char* ns, const char* name) {
  bool removed = false;
  guarded(nullptr, [&] { removed = host->remove(resource, ns, name); });
  return removed ? 0 : -1;
}

int berth_real_host_advance(berth_real_host* host, int64_t duration_ns, char** error) {
  return guarded(error, [&] { host->advance(duration_ns); }) ? 0 : -1;
}

uint64_t berth_real_host_decision_count(const berth_real_host* host) { return host->decisions.size(); }

const berth_real_host_decision* berth_real_host_decision_at(const berth_real_host* host, uint64_t index) {
  return index < host->decisions.size() ? &host->decisions[index].shown : nullptr;
}

void berth_real_host_forget_decisions(berth_real_host* host) { host->decisions.clear(); }

const char* berth_real_host_node_of(berth_real_host* host, const char* ns, const char* name) {
  const char* node = nullptr;
  guarded(nullptr, [&] { node = host->node_of(ns, name); });
  return node;
}

}  // extern "C"
