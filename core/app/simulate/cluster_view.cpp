// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/cluster_view.hpp"

#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <ostream>

#include "app/recording/description.hpp"
#include "report/text_table.hpp"

namespace berth::app {

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

std::unique_ptr<PolicyRun> ClusterView::look(const Look& look) {
  if (!options_.record.empty()) return look_back(look);
  if (options_.is_live() && !connect()) return nullptr;
  auto run = std::make_unique<PolicyRun>(run_options(look), err_);
  if (!run->configure()) return nullptr;
  if (!options_.is_live()) return run->read_cluster() && run->decide() ? std::move(run) : nullptr;
  if (copy_ == nullptr) {
    auto copy = std::make_unique<ClusterCopy>(
        endpoint_, *symbols_,
        ClusterCopy::Options{run->resources(), run->decode_options(), std::chrono::seconds(options_.limit_seconds)});
    if (const Status read = copy->read(); !read.ok()) {
      say(read.error().message);
      return nullptr;
    }
    copy_ = std::move(copy);
  }
  run->look_at(copy_->objects());
  if (!ask_scheduler(*run, look.pod)) return nullptr;
  if (!look.pod.empty()) run->ask_about(look.pod);
  return run;
}

std::unique_ptr<PolicyRun> ClusterView::look_back(const Look& look) {
  MomentWanted wanted = options_.moment;
  wanted.pod = look.pod;
  if (!look.at.empty()) wanted.at = look.at;
  Result<RecordedMoment> moment = read_moment(options_.record, wanted, *symbols_);
  if (!moment.ok()) {
    say(moment.error().message);
    return nullptr;
  }
  for (const std::string& problem : moment->problems) say("warning: " + problem + ": what follows there is left out");
  config_text_ = std::move(moment->configuration);
  auto run = std::make_unique<PolicyRun>(run_options(look), err_);
  if (!run->configure()) return nullptr;
  if (const auto changed = changed_plugins(moment->description, run->plugins()); !changed.empty())
    say(fmt::format("warning: plugins of other files than those that decided: {}", fmt::join(changed, ", ")));
  run->look_at(moment->objects, moment->wall_ns);
  if (!look.pod.empty()) run->ask_about(look.pod);
  return run;
}

/// Once; and learns by which policies the cluster's scheduler decides, where that is to be asked.
bool ClusterView::connect() {
  if (endpoint_ != nullptr) return true;
  Result<std::shared_ptr<net::Endpoint>> endpoint = app::connect(options_.live, clock_);
  if (!endpoint.ok()) {
    say(endpoint.error().message);
    return false;
  }
  if (!options_.scheduler.url.empty()) {
    auto pages = SchedulerPages::make(options_.scheduler, options_.live, clock_);
    if (!pages.ok()) {
      say(pages.error().message);
      return false;
    }
    scheduler_ = std::move(*pages);
  }
  if (options_.config.empty() && scheduler_ != nullptr) {
    Result<std::string> config = scheduler_->configuration();
    if (!config.ok()) {
      say(config.error().message);
      return false;
    }
    config_text_ = std::move(*config);
  } else if (options_.config.empty()) {
    say("the default configuration is used: give the scheduler's with --config FILE, or its address with --scheduler "
        "URL");
  }
  endpoint_ = std::move(*endpoint);
  return true;
}

bool ClusterView::ask_scheduler(PolicyRun& run, const std::string& pod) {
  if (scheduler_ == nullptr) return true;
  Result<std::vector<report::QueueWord>> words = pod.empty() ? scheduler_->queue() : scheduler_->pod(pod);
  if (!words.ok()) {
    say(words.error().message);
    return false;
  }
  run.hear(std::move(*words));
  return true;
}

std::string ClusterView::server() const { return copy_ == nullptr ? options_.record : copy_->server(); }

}  // namespace berth::app
