// SPDX-License-Identifier: Apache-2.0
#include "app/commands/run_command.hpp"

#include <sys/random.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <set>
#include <utility>

#include "app/cli/election_flags.hpp"
#include "app/commands/policy_source.hpp"
#include "app/live/api_comparison.hpp"
#include "app/live/api_connection.hpp"
#include "app/live/confinement.hpp"
#include "app/live/end_in_time.hpp"
#include "app/live/live_host.hpp"
#include "app/live/live_server.hpp"
#include "app/live/log_json.hpp"
#include "app/live/milestones.hpp"
#include "app/live/stop_signals.hpp"
#include "app/pages/debug_pages.hpp"
#include "app/plugins/decode_retention.hpp"
#include "app/plugins/plugin_library.hpp"
#include "app/recording/description.hpp"
#include "app/recording/recorder_directory.hpp"
#include "app/simulate/fit_lines.hpp"
#include "app/simulate/run_failure.hpp"
#include "base/clock.hpp"
#include "base/guarded.hpp"
#include "base/product.hpp"
#include "base/url_text.hpp"
#include "cluster/kube/lease/leader_elector.hpp"
#include "cluster/kube/lease/reign.hpp"
#include "config/completed.hpp"
#include "config/leader_election.hpp"
#include "config/read/merge.hpp"
#include "config/resolve.hpp"
#include "model/uuid.hpp"
#include "observe/log.hpp"
#include "observe/log_writer.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

/// Lets this process open as many files and connections as the system permits at all: service managers start with a soft
/// limit of 1,024. False when the limit cannot be changed.
bool raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur == limit.rlim_max) return true;
  limit.rlim_cur = limit.rlim_max;
  return ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// Time limits of a requested end: for bindings, for giving back the lease, and for all of it, whatever hangs.
constexpr std::chrono::milliseconds k_drain_limit{2000}, k_release_limit{1500}, k_end_limit{4000};
constexpr std::chrono::milliseconds k_shadow_limit{12000};  // of a shadow, for differences whose cause is not known yet
constexpr std::chrono::milliseconds k_last_words{200};      // for who reads the log
constexpr std::chrono::seconds k_loss_slack{2};             // beyond retryPeriod, once the lease is lost
constexpr std::size_t k_io_threads = 3;
constexpr std::size_t k_lines_of_plugins = 25;  // plugins that one line of the log names

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// Another number in each process, for jitter and identities; not for secrets.
std::uint64_t random_seed(const Clock& clock) {
  std::uint64_t seed = 0;
  // Without it the clock and the number of the process have to do.
  if (::getrandom(&seed, sizeof seed, 0) != static_cast<ssize_t>(sizeof seed)) seed = 0;
  return seed ^ static_cast<std::uint64_t>(clock.wall_ns()) ^ (static_cast<std::uint64_t>(::getpid()) << 32);
}

/// A sentence as the line of the log that ends a run.
RunFailure line_of(const Error& error) { return {error.message + '\n'}; }

/// One `berth run`, step by step; the first step that fails ends it.
class LiveRun {
 public:
  explicit LiveRun(const RunOptions& options) : options_(options) {}

  int run() {
    start_log();
    if (!raise_descriptor_limit()) observe::warning("The limit of open files stays as it is");
    const RunStatus ran = run_steps();
    if (ran.ok()) return 0;
    // In the log's format.
    observe::error("berth cannot run", {{"err", ran.error().lines}});
    return 1;
  }

 private:
  RunStatus run_steps() {
    explain_ends_for_want_of_resources();
    StopSignals signals;
    if (const RunStatus configured = configure(); !configured.ok()) return configured;
    if (!options_.write_config_to.empty()) return write_config();
    if (options_.dry_run || options_.shadow) skip_leader_election();
    if (const RunStatus connected = connect(); !connected.ok()) return connected;
    if (const RunStatus prepared = prepare_serving(); !prepared.ok()) return prepared;
    // From here on nothing else is read but what is read again. Before the first thread: each has what its maker has.
    if (const RunStatus confined = confine(); !confined.ok()) return confined;
    // The lease lives alone: whatever hangs elsewhere, it is renewed, or the process ends.
    net::IoThreads io(k_io_threads), lease_io(1, "lease");
    if (const RunStatus made = make_host(io); !made.ok()) return made;
    RunStatus followed = follow_and_schedule(io, lease_io, signals);
    // What uses the I/O threads goes before them.
    server_.reset();
    elector_.reset();
    host_.reset();
    return followed;
  }
  RunStatus follow_and_schedule(net::IoThreads& io, net::IoThreads& lease_io, StopSignals& signals);
  void compare_with_server(net::IoThreads& io, Milestones& milestones,
                           const std::function<void(const std::string&)>& write);
  void stop_in_time(int signal, const std::shared_ptr<Milestones>& milestones);
  cluster::kube::LeaderElectorOptions lease_options() const;
  void start_log();
  RunStatus configure();
  void log_plugins() const;
  void log_absent_plugins() const;
  RunStatus write_config();
  void skip_leader_election();
  RunStatus connect();
  RunStatus prepare_serving();
  RunStatus confine();
  RunStatus make_host(net::IoThreads& io);
  bool serves() const { return options_.secure_port != 0 || flags_.health; }
  RunStatus serve(net::IoThreads& io, const std::shared_ptr<Milestones>& milestones);
  Status lease_is_fresh() const;
  bool wait_for_cluster(const std::shared_ptr<Milestones>& milestones);
  bool elect(net::IoThreads& lease_io, const std::shared_ptr<Milestones>& milestones);
  bool catch_up(const std::shared_ptr<Milestones>& milestones);
  std::string inventory() const;
  void follow_the_other(const std::shared_ptr<Milestones>& milestones);
  void finish();
  config::Configuration without_secrets() const { return app::without_secrets(configuration_); }

  const RunOptions& options_;
  SymbolTable symbols_;
  SystemClock clock_;
  BootClock lease_clock_;
  std::shared_ptr<cluster::kube::Reign> reign_;  // once it is over, nothing is written
  const std::shared_ptr<std::atomic<bool>> has_ended_ = std::make_shared<std::atomic<bool>>(false);
  const std::uint64_t seed_ = random_seed(clock_);
  const std::string host_name_ = host_name();
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  PluginLibrary plugins_;
  std::string recorder_directory_;  // empty: nothing is recorded
  std::shared_ptr<net::Endpoint> endpoint_;
  metrics::RestMetrics requests_;  // of all clients below
  std::unique_ptr<LiveHost> host_;
  std::unique_ptr<cluster::kube::LeaderElector> elector_;
  std::atomic<cluster::kube::LeaderElector*> campaign_{nullptr};  // elector_, for the server's threads
  FlagValues flags_;
  ServingBasis basis_;  // until there is a server
  std::unique_ptr<LiveServer> server_;
};

/// Part of the dump that a signal asks for. Requires: the host is there.
void LiveRun::compare_with_server(net::IoThreads& io, Milestones& milestones,
                                  const std::function<void(const std::string&)>& write) {
  net::HttpClientOptions options;
  options.user_agent = user_agent();
  options.connections_max = 1;
  options.on_call = requests_.listener();
  net::HttpClient client(io, endpoint_, options);
  for (const std::string& line :
       app::compare_with_server(host_->views(), client, [&] { return !milestones.is_stopping(); }))
    write(line);
}

/// The sender of the signal (the kubelet, systemd) waits for that end: it comes before anything that could be waited for.
void LiveRun::stop_in_time(int signal, const std::shared_ptr<Milestones>& milestones) {
  end_after(options_.shadow ? k_end_limit + k_shadow_limit : k_end_limit, [has_ended = has_ended_] {
    if (*has_ended) return 0;
    observe::error("Shutdown did not finish in time");
    return 1;
  });
  observe::info("Requested to terminate, draining", {{"signal", signal}});
  if (!milestones->stop()) return;
  observe::info("Ended");
  end_now(0);
}

RunStatus LiveRun::follow_and_schedule(net::IoThreads& io, net::IoThreads& lease_io, StopSignals& signals) {
  const auto milestones = std::make_shared<Milestones>();
  // The thread of signals may call while this function ends.
  struct Access {
    explicit Access(LiveHost* of) : host(of) {}
    SharedMutex mutex;
    LiveHost* host GUARDED_BY(mutex);
  };
  const auto access = std::make_shared<Access>(host_.get());
  signals.watch(
      [this, milestones, access](int signal) {
        stop_in_time(signal, milestones);
        const ReadLock lock(access->mutex);
        if (access->host != nullptr) access->host->stop_scheduling();
      },
      [this, milestones, access, &io] {
        const ReadLock lock(access->mutex);
        if (access->host == nullptr) return;
        const auto write = [](const std::string& line) { observe::V(0).plain(line); };
        compare_with_server(io, *milestones, write);
        dump(access->host->views(), write);
      });
  RunStatus served = serve(io, milestones);
  if (served.ok()) {
    // A standby keeps a warm cache, unless delayCacheUntilActive is set.
    const bool elects_first = configuration_.leader_election.leader_elect && configuration_.delay_cache_until_active;
    const bool may_schedule = elects_first
                                  ? elect(lease_io, milestones) && wait_for_cluster(milestones)
                                  : wait_for_cluster(milestones) && elect(lease_io, milestones) && catch_up(milestones);
    if (may_schedule && options_.shadow)
      follow_the_other(milestones);
    else if (may_schedule)
      host_->schedule();
    finish();
  }
  const WriteLock lock(access->mutex);
  access->host = nullptr;
  return served;
}

void LiveRun::start_log() {
  observe::log_as(options_.logging_format == "json" ? log_as_json : observe::log_as_text);
  observe::log_modules(options_.log_modules);
  observe::log_up_to(options_.verbosity);
  if (const observe::V v(1); v)
    for (const auto& [name, value] : options_.all) v.plain(fmt::format("FLAG: --{}=\"{}\"", name, value));
  for (const RunOptions::WithoutEffect& flag : options_.without_effect)
    observe::warning("A flag has no effect", {{"flag", flag.name}, {"value", flag.value}, {"reason", flag.why}});
}

RunStatus LiveRun::configure() {
  text::Diagnostics diagnostics, flag_errors, value_errors, warnings;
  flags_ = read_flags(options_, value_errors);
  raw_ = read_configuration(options_, clock_, diagnostics, flag_errors, warnings);
  config::enable_by_gates(raw_.profiles, config::AbsentPlugins::embedded(),
                          [this](std::string_view gate) { return flags_.gates.enabled(gate); });
  for (const text::Diagnostic& warning : warnings.all())
    observe::warning("The configuration may be a mistake", {{"warning", warning.message}});
  for (const text::Diagnostic& note : raw_.notes.all())
    observe::warning("A setting is understood differently", {{"path", note.path}, {"reason", note.message}});
  if (raw_.converted) observe::info("An older configuration is understood as `berth config convert` shows it");
  plugins_ = load_plugins(raw_, options_.plugin_dir);
  configuration_ = raw_.values;
  if (plugins_.ok())
    configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), diagnostics);
  for (const std::string& warning : plugins_.report.warnings())
    observe::warning("Plugins were loaded with a warning", {{"warning", warning}});
  log_plugins();
  log_absent_plugins();
  RunFailure failure;
  if (!plugins_.ok()) failure.lines = plugins_.report.render();
  flag_errors.add(apply_flags(options_, configuration_));
  flag_errors.add(value_errors);
  // A flag may mend what the file has wrong.
  config::check_leader_election(raw_, configuration_.leader_election, given_election_flags(options_.leader_election),
                                diagnostics);
  failure.lines += diagnostics.render();
  configuration_.features = flags_.gates.features();
  for (const text::Diagnostic& warning : flags_.warnings.all())
    observe::warning("A flag may be a mistake", {{"warning", warning.message}});
  for (const text::Diagnostic& error : flag_errors.all()) failure.lines += error.message + '\n';
  const config::LeaderElection& election = configuration_.leader_election;
  const bool is_default = std::any_of(configuration_.profiles.begin(), configuration_.profiles.end(),
                                      [](const config::Profile& p) { return p.scheduler_name == "default-scheduler"; });
  if (election.leader_elect && !options_.dry_run && !options_.shadow && election.resource_name == "kube-scheduler" &&
      !configuration_.profiles.empty() && !is_default)
    observe::warning(
        "No profile is default-scheduler's, but the lease is that of kube-scheduler: only one of the two will run; "
        "leaderElection.resourceName names another lease");
  const bool good = plugins_.ok() && diagnostics.empty() && flag_errors.empty();
  if (!good) return failure;
  if (const observe::V v(2); v)
    v.info("Using component config", {{"config", config::completed_yaml(raw_, without_secrets())}});
  return Unit{};
}

/// The names of all plugins in a few lines; notes about single files are logged from verbosity 2 on.
void LiveRun::log_plugins() const {
  std::vector<std::string> names;
  for (const auto& [library, plugin] : plugins_.plugins.all()) names.emplace_back(plugin->name);
  for (std::size_t at = 0; at < names.size(); at += k_lines_of_plugins) {
    const auto first = names.begin() + static_cast<std::ptrdiff_t>(at);
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(std::min(at + k_lines_of_plugins, names.size()));
    observe::info("Plugins were loaded", {{"plugins", fmt::format("{}", fmt::join(first, end, ", "))}});
  }
  if (const observe::V v(2); v)
    for (const std::string& note : plugins_.report.notes()) v.info("A plugin was loaded", {{"note", note}});
}

/// What a profile names and berth does not have, and which pods that holds back.
void LiveRun::log_absent_plugins() const {
  for (const config::Profile& profile : configuration_.profiles) {
    std::set<std::string_view> absent;
    for (const auto& point : profile.points)
      for (const config::EnabledPlugin& plugin : point)
        if (plugin.absent) absent.insert(plugin.name);
    for (const std::string_view name : absent)
      if (const config::AbsentPlugin* const plugin = config::AbsentPlugins::embedded().find(name))
        observe::warning("A plugin of the profile is absent: pods that need it stay pending",
                         {{"profile", profile.scheduler_name}, {"plugin", name}, {"reason", plugin->reason}});
  }
}

RunStatus LiveRun::write_config() {
  std::ofstream file(options_.write_config_to, std::ios::binary);
  file << config::completed_yaml(raw_, configuration_);
  if (file.flush()) return Unit{};
  return line_of({fmt::format("cannot write {}", options_.write_config_to)});
}

/// A Lease is written too, and a holder that binds nothing keeps all other replicas from binding.
void LiveRun::skip_leader_election() {
  if (!std::exchange(configuration_.leader_election.leader_elect, false)) return;
  observe::info("No lease is taken: decisions are made at once, also while another replica leads");
}

RunStatus LiveRun::connect() {
  auto endpoint = app::connect(configuration_.client_connection.kubeconfig, options_.master, clock_);
  if (!endpoint.ok()) return line_of(endpoint.error());
  endpoint_ = std::move(*endpoint);
  const net::Url& server = endpoint_->server();
  observe::info("Starting berth", {{"version", product_version()},
                                   {"apiServer", server.scheme + "://" + server.authority() + server.path}});
  return Unit{};
}

RunStatus LiveRun::prepare_serving() {
  if (!serves()) return Unit{};
  const bool in_cluster = configuration_.client_connection.kubeconfig.empty() && options_.master.empty();
  Result<ServingBasis> basis =
      ServingBasis::make(options_, flags_, in_cluster ? endpoint_ : connect_around_us(clock_), clock_);
  if (!basis.ok()) return line_of(basis.error());
  basis_ = std::move(*basis);
  return Unit{};
}

RunStatus LiveRun::confine() {
  if (!options_.shadow) recorder_directory_ = recorder_directory(options_.recorder.directory);
  const Status confined = confine_run({options_,
                                       flags_,
                                       configuration_,
                                       plugins_,
                                       {endpoint_, basis_.token_reviews, basis_.access_reviews},
                                       recorder_directory_});
  if (!confined.ok()) return line_of(confined.error());
  return Unit{};
}

RunStatus LiveRun::make_host(net::IoThreads& io) {
  LiveHostOptions host;
  host.host_name = host_name_;
  host.user_agent = user_agent();
  host.dry_run = options_.dry_run;
  host.shadow = options_.shadow;
  host.seed = seed_;
  host.leftover_age_ns = flags_.leftover_age_ns;
  host.on_call = requests_.listener();
  host.plugin_call_limit_ns = flags_.plugin_call_limit_ns;
  host.explain_after_ns = configuration_.explain_after_ns;
  if (host.explain_after_ns != 0)
    host.fit_line = [lines = FitLines(symbols_, configuration_, plugins_, clock_)](
                        const auto& cache, const auto& reader, const auto& pod, const auto& goes_on) {
      return lines.line(cache, reader, pod, goes_on);
    };
  if (!recorder_directory_.empty()) {
    recording::RecorderOptions& recorder = host.recorder.emplace();
    recorder.directory = recorder_directory_;
    recorder.total_bytes = std::size_t{options_.recorder.size_mib} << 20;
    recorder.description_json = description_json(raw_, configuration_, plugins_);
    recorder.run = seed_;
    recorder.follows_ticks = true;  // clock_ is a SystemClock
  }
  reign_ = std::make_shared<cluster::kube::Reign>(lease_clock_, lease_options().reign_ns());
  if (!configuration_.leader_election.leader_elect) reign_->begin_without_lease();
  host.reign = reign_;
  auto made = LiveHost::make(symbols_, configuration_, plugins_, endpoint_, io, clock_, host);
  if (!made.ok()) return RunFailure{made.error().render()};
  host_ = std::move(*made);
  return Unit{};
}

Status LiveRun::lease_is_fresh() const {
  constexpr std::int64_t k_tolerance_ns = 20'000'000'000;
  const cluster::kube::LeaderElector* const elector = campaign_;
  if (elector == nullptr || !elector->is_leading()) return Unit{};
  const std::int64_t age_ns = lease_clock_.monotonic_ns() - elector->last_renewed_ns();
  if (age_ns <= configuration_.leader_election.lease_duration_ns + k_tolerance_ns) return Unit{};
  return Error{
      fmt::format("failed election to renew leadership on lease {}", configuration_.leader_election.resource_name)};
}

RunStatus LiveRun::serve(net::IoThreads& io, const std::shared_ptr<Milestones>& milestones) {
  if (!serves()) return Unit{};
  text::Diagnostics diagnostics;
  const auto documents =
      text::parse_yaml(config::completed_yaml(raw_, without_secrets()), "configuration", diagnostics);
  LivePagesParts pages{host_->views(), configuration_, plugins_, clock_};
  pages.started_wall_ns = clock_.wall_ns();
  pages.config_json = documents.empty() ? "null" : text::to_json(documents.front().root());
  pages.flags = options_.all;
  pages.metric_filter = flags_.metrics;
  pages.reported_version = flags_.reported_version;
  pages.version = flags_.version;
  pages.gates = flags_.gates;
  pages.is_leading = [this] {
    const cluster::kube::LeaderElector* const elector = campaign_;
    return elector != nullptr && elector->is_leading();
  };
  pages.slow_renewals = [this] {
    const cluster::kube::LeaderElector* const elector = campaign_;
    return elector == nullptr ? 0 : elector->slow_renewals();
  };
  pages.lease_is_fresh = [this] { return lease_is_fresh(); };
  pages.is_stopping = [milestones] { return milestones->is_stopping(); };
  auto server = LiveServer::make(options_, flags_, std::move(pages), io, std::move(basis_), requests_);
  if (!server.ok()) return line_of(server.error());
  server_ = std::move(*server);
  return Unit{};
}

cluster::kube::LeaderElectorOptions LiveRun::lease_options() const {
  const config::LeaderElection& election = configuration_.leader_election;
  cluster::kube::LeaderElectorOptions lease;
  lease.ns = election.resource_namespace;
  lease.name = election.resource_name;
  lease.identity = host_name_ + "_" + make_uuid(seed_);
  lease.lease_duration_ns = election.lease_duration_ns;
  lease.renew_deadline_ns = election.renew_deadline_ns;
  lease.retry_period_ns = election.retry_period_ns;
  if (!configuration_.profiles.empty()) lease.event_component = configuration_.profiles.front().scheduler_name;
  lease.seed = seed_;
  lease.reign = reign_;
  return lease;
}

bool LiveRun::wait_for_cluster(const std::shared_ptr<Milestones>& milestones) {
  host_->follow([milestones] { milestones->reach(&Milestones::synced); });
  if (!milestones->wait(&Milestones::synced)) return false;
  observe::info("Caches are synced", {{"objects", inventory()}});
  return true;
}

/// Waits for the last writes of the previous leader: their pods would be decided again before the watch delivers them.
bool LiveRun::catch_up(const std::shared_ptr<Milestones>& milestones) {
  if (!configuration_.leader_election.leader_elect) return true;
  const std::int64_t began_ns = clock_.monotonic_ns();
  host_->catch_up([milestones] { milestones->reach(&Milestones::caught_up); });
  if (!milestones->wait(&Milestones::caught_up)) return false;
  observe::info("Caught up with the cluster", {{"tookMs", (clock_.monotonic_ns() - began_ns) / 1'000'000}});
  return true;
}

/// True when this process leads, or leader election is off.
bool LiveRun::elect(net::IoThreads& lease_io, const std::shared_ptr<Milestones>& milestones) {
  const config::LeaderElection& election = configuration_.leader_election;
  if (!milestones->begin()) return false;
  if (!election.leader_elect) return true;
  cluster::kube::LeaderElectorCalls calls;
  const auto grace = std::chrono::milliseconds(election.retry_period_ns / 1'000'000) + k_loss_slack;
  calls.on_started = [this, milestones, grace] {
    // The elector ends a lost reign too, and sooner; this holds when its thread does not come to that.
    end_with(reign_, grace, [has_ended = has_ended_] { return *has_ended ? 0 : 1; });
    milestones->reach(&Milestones::leading);
  };
  calls.on_lost = [this, grace] {
    // Another replica decides from now on. The lease is lost, so nothing that was decided here is written, and no call
    // is waited for. A process does not come back from this: its supervisor starts it again.
    end_after(grace, [] { return 1; });
    host_->stop_reporting();
  };
  calls.on_ended = [] { end_now(1); };
  calls.may_renew = [this, &election] {
    const Status going = host_->may_go_on(election.renew_deadline_ns);
    if (!going.ok())
      observe::error("Nothing is decided here: the lease is not renewed", {{"err", going.error().message}});
    return going.ok();
  };
  net::HttpClientOptions client;
  client.qps = configuration_.client_connection.qps;
  client.burst = configuration_.client_connection.burst;
  client.user_agent = user_agent("leader-election");
  client.connections_max = 2;
  client.on_call = requests_.listener();
  elector_ =
      std::make_unique<cluster::kube::LeaderElector>(lease_io, endpoint_, lease_clock_, lease_options(), calls, client);
  campaign_ = elector_.get();
  elector_->start();
  return milestones->wait(&Milestones::leading);
}

std::string LiveRun::inventory() const {
  std::string out;
  for (const cluster::kube::KubeReader::Progress& progress : host_->views().reader.progress())
    if (progress.objects != 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", progress.objects, progress.resource);
  return out.empty() ? "it is empty" : out;
}

/// Until the end of the process; then, what came of it.
void LiveRun::follow_the_other(const std::shared_ptr<Milestones>& milestones) {
  observe::info("Shadow mode: repeating and comparing the decisions of the scheduler in charge");
  (void)milestones->wait(&Milestones::leading);  // which this process never does
  const ShadowReport report = host_->end_shadow(k_shadow_limit);
  std::cout << (options_.shadow_output == "json" ? shadow_json(report) : shadow_text(report)) << std::flush;
}

void LiveRun::finish() {
  host_->drain(k_drain_limit);
  // What is not sent by now is left to the next leader, which cannot be told of it: so nothing is logged about it.
  host_->stop_reporting();
  reign_->end();
  if (elector_) {
    elector_->release(k_release_limit);
    elector_->stop();
  }
  observe::info("Ended");
  observe::log_writer().flush(k_last_words);
  *has_ended_ = true;
  host_->stop_writing();
}

}  // namespace

int run_live(const RunOptions& options) { return LiveRun(options).run(); }

}  // namespace berth::app
