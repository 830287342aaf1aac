// SPDX-License-Identifier: Apache-2.0
#include "app/simulate/policy_run.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <ostream>
#include <unordered_map>

#include "app/plugins/decode_retention.hpp"
#include "app/recording/description.hpp"
#include "app/recording/recording_feed.hpp"
#include "app/simulate/claim_report.hpp"
#include "app/simulate/fit_search.hpp"
#include "app/simulate/object_copies.hpp"
#include "cluster/embedded/claim_controller.hpp"
#include "config/resolve.hpp"
#include "recording/held_bytes.hpp"
#include "recording/reader.hpp"
#include "recording/record_json.hpp"
#include "report/progress_bar.hpp"
#include "report/report_text.hpp"
#include "report/text_table.hpp"
#include "scheduler/decision_recording.hpp"

namespace berth::app {
namespace {

/// So many pods are added to fill a cluster, and no more.
constexpr std::size_t k_filling_pods_max = 1'000'000;
/// Changes of a recording that are closer to each other come at once.
constexpr std::int64_t k_replayed_step_ns = 1'000'000;
/// While nothing is recorded, so much time passes at most; and so much in all.
constexpr std::int64_t k_hour_ns = std::int64_t{3'600} * 1'000'000'000, k_day_ns = 24 * k_hour_ns;
constexpr std::int64_t k_replayed_quiet_ns = k_day_ns, k_replayed_max_ns = 366 * k_day_ns;
/// Time passes in such steps: what comes of one is kept as a whole.
constexpr std::int64_t k_replayed_look_ns = std::int64_t{10} * 1'000'000'000;
// What a page says about pending pods.
constexpr std::size_t k_details_max = 64;
constexpr std::size_t k_details_questions_max = 128;
constexpr double k_details_seconds = 15;

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// The memory that it takes, about, with the pod as it was then.
std::size_t bytes_of(const report::Decision& decision) {
  constexpr std::size_t k_victim_bytes = 128;
  return sizeof(decision) + sizeof(model::Pod) + decision.message.size() + decision.post_filter_message.size() +
         decision.victims.size() * k_victim_bytes + decision.claims.size();
}

std::vector<model::PodPtr> all_pods(const cluster::Manifests& manifests) {
  std::vector<model::PodPtr> pods;
  for (const decode::Decoded& object : manifests.objects)
    if (const auto* pod = std::get_if<model::PodPtr>(&object)) pods.push_back(*pod);
  return pods;
}

}  // namespace

PolicyRun::PolicyRun(Options options, std::ostream& err)
    : options_(std::move(options)),
      err_(err),
      kept_symbols_(options_.symbols ? options_.symbols : std::make_shared<SymbolTable>()),
      symbols_(*kept_symbols_) {}
PolicyRun::~PolicyRun() {
  if (recorder_) recorder_->stop();  // its thread asks the simulation, whose clock it reads
}

RunStatus PolicyRun::run() {
  for (RunStatus (PolicyRun::*step)() : {&PolicyRun::configure, &PolicyRun::read_cluster, &PolicyRun::decide})
    if (RunStatus done = (this->*step)(); !done.ok()) return done;
  return Unit{};
}

RunStatus PolicyRun::configure() {
  text::Diagnostics diagnostics;
  raw_ = !options_.config.empty()        ? config::load_file(options_.config, diagnostics)
         : !options_.config_text.empty() ? config::load(options_.config_text, options_.config_source, diagnostics)
                                         : config::load_defaults();
  const bool is_of_others = options_.config.empty() && !options_.config_text.empty();
  plugins_ = load_plugins(raw_, options_.plugin_dir, is_of_others ? ConfiguredBy::others : ConfiguredBy::user);
  if (const std::string note = unused_directory_note(plugins_, options_.config_source); !note.empty())
    err_ << "berth: warning: " << report::terminal_text(note) << '\n';
  if (plugins_.ok())
    configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), diagnostics);
  if ((!options_.has_extenders || !options_.recording.empty()) && !configuration_.extenders.empty()) {
    if (options_.says_extenders_are_left_out)
      err_ << "berth: warning: what extenders said is not recorded: they are left out\n";
    configuration_.extenders.clear();
  }
  for (const std::string& warning : plugins_.report.warnings()) err_ << "berth: warning: " << warning << '\n';
  for (const text::Diagnostic& note : raw_.notes.all())
    err_ << fmt::format("berth: warning: {}: {}: {}\n", raw_.file, note.path, note.message);
  if (!plugins_.ok() || !diagnostics.empty())
    return RunFailure{(plugins_.ok() ? std::string() : plugins_.report.render()) +
                      report::render_diagnostics(diagnostics)};
  return make_host();
}

RunStatus PolicyRun::make_host() {
  if (options_.single_pass) {
    auto pass = SinglePass::make(symbols_, configuration_, plugins_, system_clock_.wall_ns());
    if (!pass.ok()) return RunFailure{pass.error().render()};
    if ((*pass)->scheduler().views().framework.profiles().front()->groups != nullptr)
      return failed("a single pass decides about one pod at a time: groups need the simulation, without --single-pass");
    pass_ = std::move(*pass);
    return Unit{};
  }
  Simulation::Options options;
  options.explain_all = options_.decisions != nullptr;
  options.explain_pod = options_.explain_pod;
  options.start_wall_ns = system_clock_.wall_ns();
  if (!options_.recording.empty())
    if (auto reader = recording::Reader::open(options_.recording, symbols_); reader.ok())
      if (recording::Record first; reader->next(first)) options.start_wall_ns = first.wall_ns;
  options.record_writes = false;
  options.has_controllers = !options_.is_live;
  if (options_.decide_until || options_.decisions != nullptr)
    options.is_too_late = [this] {
      return is_unwritable() || (options_.decide_until && std::chrono::steady_clock::now() >= *options_.decide_until);
    };
  if (!options_.record.empty())
    if (RunStatus started = start_recorder(); !started.ok()) return started;
  options.recorder = recorder_.get();
  auto simulation = Simulation::make(symbols_, configuration_, plugins_, std::move(options));
  if (!simulation.ok()) return RunFailure{simulation.error().render()};
  simulation_ = std::move(*simulation);
  recorded_time_.follow(simulation_->clock());
  return Unit{};
}

RunStatus PolicyRun::start_recorder() {
  recording::RecorderOptions recorder;
  recorder.directory = options_.record;
  recorder.total_bytes = recording::k_total_bytes_max;  // it is read as a whole: nothing of it should be removed
  recorder.description_json = description_json(raw_, configuration_, plugins_);
  recorder.run = static_cast<std::uint64_t>(system_clock_.wall_ns());
  recorder.is_simulated = true;
  recorder.waits_for_room = true;
  recorder.object_fields = [this](std::string_view resource) {
    return simulation_->scheduler().views().objects.fields_of(resource);
  };
  recorder.plugin_times = [this] { return scheduler::plugin_times_of(simulation_->scheduler().views().counters); };
  Result<std::unique_ptr<recording::Recorder>> started =
      recording::Recorder::start(std::move(recorder), symbols_, recorded_time_);
  if (!started.ok()) return failed("--record " + report::terminal_text(started.error().message));
  recorder_ = std::move(*started);
  return Unit{};
}

RunStatus PolicyRun::decide_recording() {
  Result<recording::Reader> reader = recording::Reader::open(options_.recording, symbols_);
  if (!reader.ok()) return failed(report::terminal_text(reader.error().message));
  std::size_t decision_bytes = 0;
  const auto are_too_many = [&] { return decision_bytes > options_.decision_bytes_max; };
  const Simulation::Watcher keep = [&](report::Decision decision) {
    if (are_too_many()) return;
    decision_bytes += bytes_of(decision);
    this->keep(std::move(decision));
  };
  recording::HeldBytes cluster_bytes;
  RecordingFeed feed(simulation_->cluster(), symbols_,
                     [this](std::string_view name) { return scheduler().views().framework.find(name) != nullptr; });
  std::optional<std::int64_t> began_ns;
  bool is_quiet = false;
  std::string left_out;
  for (recording::Record record; left_out.empty() && reader->next(record);) {
    if (began_ns && reader->begins_run()) {
      left_out = "another process recorded later: what it recorded is left out";
      continue;
    }
    if (!began_ns) began_ns = record.at_ns;
    const std::int64_t now_ns = simulation_->clock().monotonic_ns();
    std::int64_t ahead_ns = record.at_ns - (*began_ns + now_ns);
    if (ahead_ns > k_replayed_quiet_ns) {
      is_quiet = true;
      *began_ns += ahead_ns - k_replayed_quiet_ns;
      ahead_ns = k_replayed_quiet_ns;
    }
    if (now_ns > k_replayed_max_ns)
      left_out = "it is longer than a year: what follows is left out";
    else if (ahead_ns >= k_replayed_step_ns)
      for (; ahead_ns > 0 && !are_too_many(); ahead_ns -= k_replayed_look_ns)
        simulation_->advance(std::chrono::nanoseconds(std::min(ahead_ns, k_replayed_look_ns)), keep);
    if (!cluster_bytes.take(record))
      left_out = fmt::format(
          "the cluster takes more than {} of memory, as none that berth recorded: what follows is "
          "left out",
          recording::HeldBytes::limit());
    if (are_too_many()) break;
    if (left_out.empty() && !feed.take(record, reader->begins_run()))
      left_out = fmt::format("a part of the recording is missing before {}: what follows is left out",
                             recording::moment_text(record.wall_ns));
  }
  if (options_.says_records_are_left_out && is_quiet)
    err_ << "berth: warning: nothing was recorded for longer than a day: only a day of it passes\n";
  if (options_.says_records_are_left_out && !left_out.empty()) err_ << "berth: warning: " << left_out << '\n';
  if (!are_too_many()) simulation_->run_until_idle(keep);
  if (are_too_many())
    err_ << fmt::format(
        "berth: warning: pods are tried more often than {} MiB of decisions can say: what follows after {} hours is "
        "left "
        "out\n",
        options_.decision_bytes_max >> 20, simulation_->clock().monotonic_ns() / k_hour_ns);
  if (!feed.is_known())
    return failed(report::terminal_text(options_.recording) + ": the cluster is not known as a whole at any moment");
  return Unit{};
}

RunStatus PolicyRun::read_cluster() {
  if (!options_.recording.empty()) return Unit{};
  const auto reading = std::chrono::steady_clock::now();
  cluster::ManifestOptions manifest_options;
  manifest_options.decode = decode_options();
  manifest_options.decode.watched = resources();
  manifest_options.decode.watched.emplace_back(cluster::k_claim_templates);
  manifest_options.now_ns = system_clock_.wall_ns();
  manifest_options.standard_input = options_.standard_input;
  std::vector<std::string> paths = options_.cluster;
  if (!options_.pod.empty()) paths.push_back(options_.pod);
  text::Diagnostics diagnostics;
  manifests_ = cluster::read_manifests(paths, symbols_, manifest_options, diagnostics);
  read_seconds_ = seconds_since(reading);
  for (const cluster::SkippedKind& skipped : manifests_.skipped)
    err_ << fmt::format("berth: warning: {} object(s) of kind {} ({}) skipped: scheduling does not know them\n",
                        skipped.count, skipped.kind, skipped.api_version);
  if (!diagnostics.empty()) return RunFailure{report::render_diagnostics(diagnostics)};
  if (!options_.pod.empty())
    if (RunStatus taken = take_filler(); !taken.ok()) return taken;
  WhatIf what_if(manifests_, symbols_, options_.added_max);
  for (const WhatIfChange& change : options_.changes) {
    Result<report::ChangeLine> line = what_if.apply(change);
    if (!line.ok()) return failed(report::terminal_text(line.error().message));
    changes_.push_back(std::move(*line));
  }
  if (!pass_) {
    cluster::in_list_order(manifests_, [&](const decode::Decoded& object) { simulation_->cluster().put(object); });
    manifests_.objects = {};
    return Unit{};
  }
  pass_->load(manifests_);
  return Unit{};
}

decode::DecodeOptions PolicyRun::decode_options() {
  return app::decode_options(configuration_, scheduler().views().framework);
}

std::vector<std::string> PolicyRun::resources() { return scheduler().views().objects.resources(); }

void PolicyRun::look_at(const std::vector<decode::Decoded>& objects, std::int64_t at_ns) {
  looked_at_ns_ = at_ns != 0 ? at_ns : system_clock_.wall_ns();
  for (const decode::Decoded& object : objects) simulation_->cluster().put(object);
  simulation_->take_in();
}

void PolicyRun::ask_about(std::string_view pod) {
  const std::vector<queue::PendingPod> waiting = deciding().queue.pending_pods();
  const auto asked = std::find_if(waiting.begin(), waiting.end(),
                                  [&](const queue::PendingPod& each) { return each.pod->key() == pod; });
  if (asked == waiting.end() || asked->gated()) return;
  report::Decision decision;
  decision.pod = asked->pod;
  decision.message = report::scheduler_message(*asked->pod);
  decision.explanation = std::make_unique<cycle::Explanation>(deciding().cycle.explain(asked->pod, {.details = true}));
  decisions_.push_back(std::move(decision));
}

RunStatus PolicyRun::take_filler() {
  std::vector<decode::Decoded>& objects = manifests_.objects;
  const auto first = objects.end() - static_cast<std::ptrdiff_t>(manifests_.objects_of_last_file);
  const auto is_pod = [](const decode::Decoded& object) { return std::holds_alternative<model::PodPtr>(object); };
  const auto count = std::count_if(first, objects.end(), is_pod);
  if (count != 1)
    return failed(fmt::format("--pod {}: {} pods are in the file: write exactly one", options_.pod, count));
  const auto at = std::find_if(first, objects.end(), is_pod);
  const model::PodPtr pod = std::get<model::PodPtr>(*at);
  objects.erase(at);
  const char* why = scheduler().views().framework.find(pod->scheduler_name) == nullptr
                        ? "no profile has its schedulerName"
                    : !pod->spec->gates.empty()     ? "it has scheduling gates"
                    : pod->node_name != k_no_symbol ? "it has a node already, in spec.nodeName"
                                                    : nullptr;
  if (why != nullptr)
    return failed(fmt::format("--pod {}: {} is not tried: {}", options_.pod, report::terminal_text(pod->key()), why));
  auto filler = std::make_shared<model::Pod>(*pod);
  filler->spec.edit().preempts = false;  // what fits leaves the others where they are
  filler_ = std::move(filler);
  return Unit{};
}

void PolicyRun::count_calls() {
  for (const observe::CallTotal& total : scheduler().views().counters.totals()) {
    report::PluginCalls& calls = calls_[total.plugin];
    calls.calls += static_cast<std::int64_t>(total.calls);
    calls.took_ns += static_cast<std::int64_t>(total.seconds * 1e9);
  }
}

void PolicyRun::keep(report::Decision decision) {
  report::keep_top_scores(decision);
  report::share_texts(decision, texts_);
  if (options_.decisions != nullptr) {
    const model::Pod& pod = *decision.pod;
    const bool may_have_claims = !pod.spec->resource_claims.empty() || (has_device_classes_ && pod.asks_for_devices());
    options_.decisions->write(decision, !pass_ && may_have_claims);
    if (options_.explain_pod != decision.pod->key()) decision.explanation.reset();
  }
  decisions_.push_back(std::move(decision));
}

RunStatus PolicyRun::decide() {
  const auto deciding = std::chrono::steady_clock::now();
  if (options_.decisions != nullptr) {
    if (const Status opened = options_.decisions->open(); !opened.ok()) return failed(opened.error().message);
    has_device_classes_ = !pass_ && has_device_classes(simulation_->cluster());
  }
  if (!options_.recording.empty()) {
    RunStatus decided = decide_recording();
    decide_seconds_ = seconds_since(deciding);
    return decided;
  }
  report::ProgressBar bar(err_, system_clock_, options_.shows_progress, "deciding");
  if (pass_) {
    SinglePass::Options run;
    run.explain_all = options_.decisions != nullptr;
    run.explain_pod = options_.explain_pod;
    run.progress = [&](std::size_t done, std::size_t all) { bar.update(done, all); };
    run.is_too_late = [this] { return is_unwritable(); };
    decisions_.reserve(pass_->pending_pods());
    pass_->run(run, [this](report::Decision decision) { keep(std::move(decision)); });
  } else {
    simulation_->run_to_the_end([&](report::Decision decision) {
      keep(std::move(decision));
      bar.update(decisions_.size(), 0);
    });
    if (options_.decide_until && std::chrono::steady_clock::now() >= *options_.decide_until)
      return failed(fmt::format("it takes too long: {} decisions were made, and there was no end", decisions_.size()));
    if (filler_ != nullptr)
      if (RunStatus filled = fill([&] { bar.update(decisions_.size(), 0); }); !filled.ok()) return filled;
  }
  if (options_.decisions != nullptr) {
    const Status written =
        options_.decisions->finish([this](const model::Pod& pod) { return claims_json(pod, simulation_->cluster()); });
    if (!written.ok()) return failed(written.error().message);
  }
  decide_seconds_ = seconds_since(deciding);
  count_calls();
  if (!recorder_) return Unit{};
  recorder_->flush();
  const recording::RecorderCounts counts = recorder_->counts();
  const std::string directory = report::terminal_text(options_.record);
  std::string warning;
  if (counts.removed_segments != 0)
    warning = fmt::format(
        "berth: warning: --record {}: a recording has {} MiB at most: the beginning of this one was removed\n",
        directory, recording::k_total_bytes_max >> 20);
  if (counts.dropped != 0) {
    RunFailure failure = failed(fmt::format("--record {}: {} records could not be written", directory, counts.dropped));
    failure.lines += warning;
    return failure;
  }
  err_ << warning;
  return Unit{};
}

RunStatus PolicyRun::fill(const std::function<void()>& progress) {
  cluster::EmbeddedCluster& cluster = simulation_->cluster();
  report::FillReport& fill = fill_.emplace();
  fill.pod = filler_->key();
  std::map<std::string, std::size_t> on_node;
  for (std::size_t number = 1; !fill.is_full && fill.fitting < k_filling_pods_max; ++number) {
    const std::string name = filler_->name + "-" + std::to_string(number);
    if (cluster.find_pod(filler_->ns, name) != nullptr) continue;
    const model::PodPtr pod = pod_like(*filler_, name, symbols_);
    cluster.put_pod(pod);
    std::vector<report::Decision> round;
    simulation_->run_until_idle([&](report::Decision decision) {
      round.push_back(std::move(decision));
      progress();
    });
    if (is_unwritable()) return Unit{};
    const auto keep_round = [&] {
      for (report::Decision& decision : round) keep(std::move(decision));
    };
    const model::PodPtr now = cluster.find_pod(pod->ns, name);
    if (now != nullptr && now->node_name != k_no_symbol) {
      ++fill.fitting;
      ++on_node[std::string(symbols_.text(now->node_name))];
      keep_round();
      continue;
    }
    fill.is_full = true;
    const auto of_pod = std::find_if(round.rbegin(), round.rend(),
                                     [&](const report::Decision& decision) { return decision.pod->uid == pod->uid; });
    if (of_pod == round.rend())
      return failed(
          fmt::format("--until-full: {} is held back before it is tried: see --explain for pods like it", pod->key()));
    fill.message =
        of_pod->node.empty() ? of_pod->message.get() : fmt::format("was to go to {}, and is not bound", of_pod->node);
    fill.rejections = report::count_rejections(deciding().cycle.explain(pod));
    cluster.remove_pod(pod->ns, name);
    std::erase_if(round, [&](const report::Decision& decision) { return decision.pod->uid == pod->uid; });
    keep_round();
    simulation_->run_until_idle([&](report::Decision decision) { keep(std::move(decision)); });
  }
  fill.nodes.assign(on_node.begin(), on_node.end());
  std::stable_sort(fill.nodes.begin(), fill.nodes.end(),
                   [](const auto& a, const auto& b) { return a.second > b.second; });
  return Unit{};
}

Result<std::optional<report::FitReport>> PolicyRun::fit(std::string_view pod, std::string_view why_not) {
  const auto last = std::find_if(decisions_.rbegin(), decisions_.rend(),
                                 [&](const report::Decision& decision) { return decision.pod->key() == pod; });
  if (last == decisions_.rend() || !last->node.empty()) return std::optional<report::FitReport>();
  const model::PodPtr pending = pod_now(last->pod->ns, last->pod->name);
  if (pending == nullptr || pending->node_name != k_no_symbol) return std::optional<report::FitReport>();
  FitSearch search(deciding(), symbols_);
  Result<report::FitReport> found = search.search(pending, why_not);
  if (!found.ok()) return found.error();
  return std::optional<report::FitReport>(std::move(*found));
}

model::PodPtr PolicyRun::pod_now(const std::string& ns, const std::string& name) const {
  return (pass_ ? pass_->cluster() : simulation_->cluster()).find_pod(ns, name);
}

/// One pod of each workload and answer is asked about, as many as there is time for: first one of each answer, the most
/// frequent first, so that each says what would help, with an equal part of the time that is left; then others.
void PolicyRun::add_details(const report::SimulationReport& report, report::PageParts& parts) {
  struct Group {
    std::size_t pod;
    std::vector<std::size_t> others = {};
  };
  struct Cause {
    std::size_t pods = 0, first_group = 0;
  };
  std::vector<Group> groups;
  std::vector<Cause> causes;
  std::unordered_map<std::string, std::size_t> known_groups, known_causes;
  for (std::size_t i = 0; i < report.pods.size(); ++i) {
    const report::PodLine& line = report.pods[i];
    if (line.state != report::PodState::pending || (line.attempts == 0 && !options_.is_live)) continue;
    const model::PodPtr pod = pod_now(line.ns, line.name);
    if (pod == nullptr) continue;
    const auto [cause, is_new_cause] = known_causes.emplace(line.message.get(), causes.size());
    if (is_new_cause) causes.push_back({0, groups.size()});
    ++causes[cause->second].pods;
    const model::OwnerReference& controller = pod->controller.get();
    const std::string alike =
        controller.kind.empty() ? pod->key() : controller.kind.get() + '/' + controller.name.get();
    const auto [group, is_new] =
        known_groups.emplace(line.ns.get() + '\n' + alike + '\n' + line.message.get(), groups.size());
    if (is_new)
      groups.push_back({i});
    else
      groups[group->second].others.push_back(i);
  }
  std::stable_sort(causes.begin(), causes.end(), [](const Cause& a, const Cause& b) { return a.pods > b.pods; });
  std::vector<std::size_t> order;
  std::vector<bool> is_first(groups.size());
  for (const Cause& cause : causes) {
    order.push_back(cause.first_group);
    is_first[cause.first_group] = true;
  }
  for (std::size_t i = 0; i < groups.size() && order.size() < k_details_max; ++i)
    if (!is_first[i]) order.push_back(i);
  const auto started = std::chrono::steady_clock::now();
  const scheduler::DecisionParts host = deciding();
  for (std::size_t at = 0; at < order.size() && at < k_details_max; ++at) {
    const double began = seconds_since(started);
    if (began > k_details_seconds) break;
    const std::size_t share = at < causes.size() ? std::min(causes.size(), k_details_max) - at : 1;
    const double until = began + (k_details_seconds - began) / static_cast<double>(share);
    Group& group = groups[order[at]];
    const report::PodLine& line = report.pods[group.pod];
    const model::PodPtr pod = pod_now(line.ns, line.name);
    report::PodDetail detail;
    detail.pod = group.pod;
    detail.explanation = host.cycle.explain(pod);
    FitSearch search(host, symbols_, k_details_questions_max, [&] { return seconds_since(started) < until; });
    if (Result<report::FitReport> fit = search.search(pod); fit.ok()) detail.fit = std::move(*fit);
    detail.others = std::move(group.others);
    parts.details.push_back(std::move(detail));
  }
}

report::PageParts PolicyRun::page_parts(const report::SimulationReport& report) {
  report::PageParts parts;
  const scheduler::DecisionParts host = deciding();
  for (const cache::Slot slot : host.snapshot.order()) {
    auto& labels = parts.labels.emplace_back();
    for (const model::Label& label : host.snapshot.row(slot).node->labels)
      labels.emplace_back(symbols_.text(label.key), symbols_.text(label.value));
  }
  add_details(report, parts);
  for (const loader::LoadedLibrary& library : plugins_.plugins.libraries())
    for (const loader::PluginNote& note : library.notes) {
      parts.plugins.push_back({note.plugin, note.version, library.path, library.sha256, note.points});
      if (const auto calls = calls_.find(note.plugin); calls != calls_.end())
        parts.plugins.back().calls = calls->second;
    }
  return parts;
}

RunStatus PolicyRun::check_inputs() {
  RunFailure failure;
  for (const cycle::UndeclaredInput& input : deciding().undeclared_inputs)
    failure.lines += failed(input.sentence()).lines;
  if (!failure.lines.empty()) return failure;
  return Unit{};
}

report::SimulationReport PolicyRun::report() {
  const scheduler::DecisionParts host = deciding();
  const cluster::EmbeddedCluster& cluster = pass_ ? pass_->cluster() : simulation_->cluster();
  report::SimulationReport report = report::make_report(
      {symbols_, host.cache, host.snapshot, pass_ ? all_pods(manifests_) : simulation_->cluster().pods(),
       options_.is_live ? std::span<const report::Decision>() : decisions_, host.queue.pending_pods(),
       [&host](std::string_view name) { return host.framework.find(name) != nullptr; }, pass_ != nullptr,
       cluster.objects_of(k_slices), cluster.objects_of(k_claims)});
  if (options_.is_live) report::describe_live(report, cluster.pods(), words_, looked_at_ns_);
  report.changes = changes_;
  report.fill = fill_;
  return report;
}

}  // namespace berth::app
