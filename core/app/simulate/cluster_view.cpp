// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/cluster_view.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ostream>

#include "app/recording/description.hpp"
#include "report/text_table.hpp"

namespace berth::app {
namespace {

RunFailure failure_of(const Error& error) { return failed(report::terminal_text(error.message)); }

}  // namespace

ClusterView::ClusterView(ViewOptions options, std::ostream& err) : options_(std::move(options)), err_(err) {}
ClusterView::~ClusterView() = default;

void ClusterView::say(const std::string& text) { err_ << "berth: " << report::terminal_text(text) << '\n'; }

PolicyRun::Options ClusterView::run_options(const Look& look) const {
  PolicyRun::Options run;
  run.cluster = options_.cluster;
  run.config = options_.config;
  run.config_text = config_text_;
  run.config_source = options_.record.empty() ? "the scheduler's /configz" : options_.record;
  run.plugin_dir = options_.plugin_dir;
  run.explain_pod = look.pod;
  run.changes = look.changes;
  run.added_max = look.added_max;
  run.decide_until = look.decide_until;
  run.is_live = options_.cluster.empty();
  run.has_extenders = options_.record.empty();
  if (run.is_live) run.symbols = symbols_;
  return run;
}

Result<std::unique_ptr<PolicyRun>, RunFailure> ClusterView::look(const Look& look) {
  if (!options_.record.empty()) return look_back(look);
  if (options_.is_live())
    if (const RunStatus connected = connect(); !connected.ok()) return connected.error();
  auto run = std::make_unique<PolicyRun>(run_options(look), err_);
  if (!options_.is_live()) {
    if (const RunStatus decided = run->run(); !decided.ok()) return decided.error();
    return run;
  }
  if (const RunStatus configured = run->configure(); !configured.ok()) return configured.error();
  if (copy_ == nullptr) {
    auto copy = std::make_unique<ClusterCopy>(
        endpoint_, *symbols_,
        ClusterCopy::Options{run->resources(), run->decode_options(), std::chrono::seconds(options_.limit_seconds)});
    if (const Status read = copy->read(); !read.ok()) return failure_of(read.error());
    copy_ = std::move(copy);
  }
  run->look_at(copy_->objects());
  if (const RunStatus asked = ask_scheduler(*run, look.pod); !asked.ok()) return asked.error();
  if (!look.pod.empty()) run->ask_about(look.pod);
  return run;
}

Result<std::unique_ptr<PolicyRun>, RunFailure> ClusterView::look_back(const Look& look) {
  MomentWanted wanted = options_.moment;
  wanted.pod = look.pod;
  if (!look.at.empty()) wanted.at = look.at;
  Result<RecordedMoment> moment = read_moment(options_.record, wanted, *symbols_);
  if (!moment.ok()) return failure_of(moment.error());
  for (const std::string& problem : moment->problems) say("warning: " + problem + ": what follows there is left out");
  config_text_ = std::move(moment->configuration);
  auto run = std::make_unique<PolicyRun>(run_options(look), err_);
  if (const RunStatus configured = run->configure(); !configured.ok()) return configured.error();
  if (const auto changed = changed_plugins(moment->description, run->plugins()); !changed.empty())
    say(fmt::format("warning: plugins of other files than those that decided: {}", fmt::join(changed, ", ")));
  run->look_at(moment->objects, moment->wall_ns);
  if (!look.pod.empty()) run->ask_about(look.pod);
  return run;
}

/// Once; and learns by which policies the cluster's scheduler decides, where that is to be asked.
RunStatus ClusterView::connect() {
  if (endpoint_ != nullptr) return Unit{};
  Result<std::shared_ptr<net::Endpoint>> endpoint = app::connect(options_.live, clock_);
  if (!endpoint.ok()) return failure_of(endpoint.error());
  if (!options_.scheduler.url.empty()) {
    auto pages = SchedulerPages::make(options_.scheduler, options_.live, clock_);
    if (!pages.ok()) return failure_of(pages.error());
    scheduler_ = std::move(*pages);
  }
  if (options_.config.empty() && scheduler_ != nullptr) {
    Result<std::string> config = scheduler_->configuration();
    if (!config.ok()) return failure_of(config.error());
    config_text_ = std::move(*config);
  } else if (options_.config.empty()) {
    say("the default configuration is used: give the scheduler's with --config FILE, or its address with --scheduler "
        "URL");
  }
  endpoint_ = std::move(*endpoint);
  return Unit{};
}

RunStatus ClusterView::ask_scheduler(PolicyRun& run, const std::string& pod) {
  if (scheduler_ == nullptr) return Unit{};
  Result<std::vector<report::QueueWord>> words = pod.empty() ? scheduler_->queue() : scheduler_->pod(pod);
  if (!words.ok()) return failure_of(words.error());
  run.hear(std::move(*words));
  if (!pod.empty()) return Unit{};
  auto calls = scheduler_->plugin_calls();
  if (!calls.ok()) return failure_of(calls.error());
  run.hear(std::move(*calls));
  return Unit{};
}

std::string ClusterView::server() const { return copy_ == nullptr ? options_.record : copy_->server(); }

}  // namespace berth::app
