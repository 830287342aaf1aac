// SPDX-License-Identifier: Apache-2.0
#include "app/run_command.hpp"

#include <signal.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <random>

#include "app/delegated_access.hpp"
#include "app/field_needs.hpp"
#include "app/live_host.hpp"
#include "app/live_pages.hpp"
#include "app/plugin_library.hpp"
#include "cluster/kube/kubeconfig.hpp"
#include "cluster/kube/leader_elector.hpp"
#include "config/completed.hpp"
#include "config/resolve.hpp"
#include "text/parse.hpp"

namespace berth::app {
namespace {

constexpr std::chrono::seconds k_drain_limit{20};
constexpr std::chrono::seconds k_release_limit{5};
constexpr std::size_t k_io_threads = 3;

std::string host_name() {
  std::array<char, 256> name{};
  return ::gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "localhost";
}

/// Unlike any other in time and space, for jitter and identities; nothing secret hangs on it.
std::uint64_t make_seed(const Clock& clock) {
  std::uint64_t seed = 0;
  std::ifstream random("/dev/urandom", std::ios::binary);
  random.read(reinterpret_cast<char*>(&seed), sizeof seed);
  return seed ^ static_cast<std::uint64_t>(clock.wall_ns()) ^ (static_cast<std::uint64_t>(::getpid()) << 32);
}

std::string make_uuid(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const std::uint64_t a = random(), b = random();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", a >> 32, (a >> 16) & 0xffff, a & 0xfff,
                     0x8000 | ((b >> 48) & 0x3fff), b & 0xffffffffffff);
}

/// SIGTERM and SIGINT as a wait. Made before any other thread, so that none of them gets the signals.
class StopSignals {
 public:
  StopSignals() {
    sigemptyset(&set_);
    sigaddset(&set_, SIGTERM);
    sigaddset(&set_, SIGINT);
    pthread_sigmask(SIG_BLOCK, &set_, nullptr);
  }
  /// Calls on_first at the first signal; the second ends the process.
  void watch(std::function<void()> on_first) {
    std::thread([set = set_, on_first = std::move(on_first)] {
      int signal = 0;
      sigwait(&set, &signal);
      spdlog::info("signal {}: draining", signal);
      on_first();
      sigwait(&set, &signal);
      std::_Exit(1);
    }).detach();
  }

 private:
  sigset_t set_{};
};

/// What the main thread waits for.
class Milestones {
 public:
  void reach(bool Milestones::*milestone) {
    const std::lock_guard lock(mutex_);
    this->*milestone = true;
    changed_.notify_all();
  }
  /// False when the process is to end instead.
  bool wait(bool Milestones::*milestone) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return this->*milestone || stopping; });
    return !stopping;
  }
  bool is_stopping() {
    const std::lock_guard lock(mutex_);
    return stopping;
  }

  bool synced = false, leading = false, stopping = false;

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
};

/// One `berth run`, step by step; each step says what is wrong and returns false.
class LiveRun {
 public:
  LiveRun(const RunOptions& options, std::ostream& err) : options_(options), err_(err) {}

  int run() {
    start_log();
    StopSignals signals;
    if (!configure()) return 1;
    if (!options_.write_config_to.empty()) return write_config() ? 0 : 1;
    if (!connect()) return 1;
    cluster::kube::IoThreads io(k_io_threads);
    if (!make_host(io)) return 1;
    const int status = follow_and_schedule(io, signals);
    // What uses the I/O threads goes before them.
    server_.reset();
    elector_.reset();
    reviewers_.clear();
    host_.reset();
    return status;
  }

 private:
  int follow_and_schedule(cluster::kube::IoThreads& io, StopSignals& signals);
  cluster::kube::LeaderElectorOptions lease_options() const;
  void start_log();
  bool configure();
  bool write_config();
  bool connect();
  bool make_host(cluster::kube::IoThreads& io);
  bool serve(cluster::kube::IoThreads& io, const std::shared_ptr<Milestones>& milestones);
  Result<serving::KeyPair> serving_keys();
  bool add_reviewer(cluster::kube::IoThreads& io, const std::string& kubeconfig);
  Status lease_is_fresh() const;
  bool elect(cluster::kube::IoThreads& io, Milestones& milestones);
  std::string inventory() const;
  void finish();
  void complain(const std::string& text) { err_ << "berth: " << text << '\n'; }

  const RunOptions& options_;
  std::ostream& err_;
  SymbolTable symbols_;
  SystemClock clock_;
  const std::uint64_t seed_ = make_seed(clock_);
  const std::string host_name_ = host_name();
  config::RawConfiguration raw_;
  config::Configuration configuration_;
  PluginLibrary plugins_;
  std::shared_ptr<cluster::kube::Endpoint> endpoint_;
  std::unique_ptr<LiveHost> host_;
  std::unique_ptr<cluster::kube::LeaderElector> elector_;
  std::atomic<cluster::kube::LeaderElector*> campaign_{nullptr};       // elector_, for the server's threads
  std::vector<std::unique_ptr<cluster::kube::HttpClient>> reviewers_;  // of tokens, of access; null: nobody
  std::unique_ptr<DelegatedAccess> access_;
  std::unique_ptr<serving::HttpsServer> server_;
};

int LiveRun::follow_and_schedule(cluster::kube::IoThreads& io, StopSignals& signals) {
  const auto milestones = std::make_shared<Milestones>();
  // The signal's thread may come while we go.
  struct Access {
    std::mutex mutex;
    LiveHost* host = nullptr;
  };
  const auto access = std::make_shared<Access>();
  access->host = host_.get();
  signals.watch([milestones, access] {
    milestones->reach(&Milestones::stopping);
    const std::lock_guard lock(access->mutex);
    if (access->host != nullptr) access->host->stop_scheduling();
  });
  const bool is_served = serve(io, milestones);
  if (is_served) {
    host_->follow([milestones] { milestones->reach(&Milestones::synced); });
    if (milestones->wait(&Milestones::synced)) {
      spdlog::info("the cluster is known: {}", inventory());
      if (elect(io, *milestones)) host_->schedule();
    }
    finish();
  }
  const std::lock_guard lock(access->mutex);
  access->host = nullptr;
  return is_served ? 0 : 1;
}

void LiveRun::start_log() {
  spdlog::set_level(options_.verbosity >= 4   ? spdlog::level::trace
                    : options_.verbosity >= 2 ? spdlog::level::debug
                                              : spdlog::level::info);
  if (options_.logging_format == "json")
    spdlog::set_pattern(R"({"ts":"%Y-%m-%dT%H:%M:%S.%f%z","level":"%l","msg":"%v"})");
  for (const auto& [name, value] : options_.without_effect) spdlog::warn("--{}={} has no effect", name, value);
}

bool LiveRun::configure() {
  text::Problems problems;
  raw_ = options_.config.empty() ? config::load_defaults() : config::load_file(options_.config, problems);
  plugins_ = load_plugins(raw_, options_.plugin_dir);
  if (plugins_.ok())
    configuration_ = config::resolve(raw_, plugins_.catalog(), config::AbsentPlugins::embedded(), problems);
  for (const std::string& warning : plugins_.report.warnings()) spdlog::warn("{}", warning);
  for (const std::string& note : plugins_.report.notes()) spdlog::info("{}", note);
  if (!plugins_.ok()) err_ << plugins_.report.render();
  err_ << problems.render();
  std::vector<std::string> wrong = apply_flags(options_, configuration_);
  if (configuration_.leader_election.leader_elect)
    if (const Status good = cluster::kube::LeaderElector::check(lease_options()); !good.ok())
      wrong.push_back("leader election: " + good.error().message);
  for (const std::string& sentence : wrong) complain(sentence);
  return plugins_.ok() && problems.empty() && wrong.empty();
}

bool LiveRun::write_config() {
  std::ofstream file(options_.write_config_to, std::ios::binary);
  file << config::completed_yaml(raw_, configuration_);
  if (file.flush()) return true;
  complain(fmt::format("cannot write {}", options_.write_config_to));
  return false;
}

bool LiveRun::connect() {
  const std::string& path = configuration_.client_connection.kubeconfig;
  const cluster::kube::Environment environment = cluster::kube::process_environment();
  std::optional<cluster::kube::ClientConfig> config;
  if (path.empty() && options_.master.empty()) {
    Result<cluster::kube::ClientConfig> found = cluster::kube::in_cluster_config(environment);
    if (!found.ok()) {
      complain(found.error().message);
      return false;
    }
    config = std::move(*found);
  } else {
    text::Problems problems;
    const cluster::kube::KubeconfigOptions kubeconfig{{}, options_.master};
    config = path.empty() ? cluster::kube::read_kubeconfig("{}", "--master", kubeconfig, problems)
                          : cluster::kube::load_kubeconfig(path, kubeconfig, problems);
    err_ << problems.render();
    if (!config) return false;
  }
  Result<std::shared_ptr<cluster::kube::Endpoint>> endpoint =
      cluster::kube::Endpoint::make(std::move(*config), clock_, environment);
  if (!endpoint.ok()) {
    complain(endpoint.error().message);
    return false;
  }
  endpoint_ = std::move(*endpoint);
  const cluster::kube::Url& server = endpoint_->config().server;
  spdlog::info("API server {}://{}{}", server.scheme, server.authority(), server.path);
  return true;
}

bool LiveRun::make_host(cluster::kube::IoThreads& io) {
  LiveHostOptions host;
  host.host_name = host_name_;
  host.user_agent = fmt::format("{}/scheduler", k_product);
  host.dry_run = options_.dry_run;
  host.seed = seed_;
  host.needs = field_needs();
  std::replace(host.user_agent.begin(), host.user_agent.end(), ' ', '/');
  std::vector<std::string> complaints;
  host_ = LiveHost::make(symbols_, configuration_, plugins_, endpoint_, io, clock_, host, complaints);
  for (const std::string& complaint : complaints) err_ << complaint << '\n';
  return host_ != nullptr;
}

Result<serving::KeyPair> LiveRun::serving_keys() {
  if (options_.tls_cert_file.empty()) {
    std::vector<std::string> hosts;
    if (options_.bind_address != "0.0.0.0" && options_.bind_address != "::") hosts.push_back(options_.bind_address);
    return serving::make_self_signed(hosts, clock_.wall_ns());
  }
  serving::KeyPair out;
  for (const auto& [path, text] :
       {std::pair<const std::string&, std::string&>(options_.tls_cert_file, out.certificate),
        std::pair<const std::string&, std::string&>(options_.tls_private_key_file, out.key)}) {
    std::ifstream in(path, std::ios::binary);
    text.assign(std::istreambuf_iterator<char>(in), {});
    if (text.empty()) return Error{fmt::format("{} cannot be read or is empty", path)};
  }
  return out;
}

/// Who is asked about callers: the one of the flag, or, inside a cluster, the one that schedules.
bool LiveRun::add_reviewer(cluster::kube::IoThreads& io, const std::string& kubeconfig) {
  std::shared_ptr<cluster::kube::Endpoint> endpoint;
  if (!kubeconfig.empty()) {
    text::Problems problems;
    auto config = cluster::kube::load_kubeconfig(kubeconfig, {}, problems);
    err_ << problems.render();
    if (!config) return false;
    auto made = cluster::kube::Endpoint::make(std::move(*config), clock_, cluster::kube::process_environment());
    if (!made.ok()) {
      complain(made.error().message);
      return false;
    }
    endpoint = std::move(*made);
  } else if (configuration_.client_connection.kubeconfig.empty() && options_.master.empty()) {
    endpoint = endpoint_;
  }
  cluster::kube::HttpClientOptions client;
  client.qps = 200;
  client.burst = 400;
  client.user_agent = fmt::format("berth/{}", BERTH_PRODUCT_VERSION);
  reviewers_.push_back(endpoint ? std::make_unique<cluster::kube::HttpClient>(io, endpoint, client) : nullptr);
  return true;
}

Status LiveRun::lease_is_fresh() const {
  constexpr std::int64_t k_tolerance_ns = 20'000'000'000;
  const cluster::kube::LeaderElector* const elector = campaign_;
  if (elector == nullptr || !elector->is_leading()) return Unit{};
  const std::int64_t age_ns = clock_.monotonic_ns() - elector->last_renewed_ns();
  if (age_ns <= configuration_.leader_election.lease_duration_ns + k_tolerance_ns) return Unit{};
  return Error{
      fmt::format("failed election to renew leadership on lease {}", configuration_.leader_election.resource_name)};
}

bool LiveRun::serve(cluster::kube::IoThreads& io, const std::shared_ptr<Milestones>& milestones) {
  if (options_.secure_port == 0) return true;
  if (!add_reviewer(io, options_.authentication_kubeconfig) || !add_reviewer(io, options_.authorization_kubeconfig))
    return false;
  access_ = std::make_unique<DelegatedAccess>(reviewers_[0].get(), reviewers_[1].get(), clock_);
  Result<serving::KeyPair> keys = serving_keys();
  if (!keys.ok()) {
    complain(keys.error().message);
    return false;
  }
  text::Problems problems;
  const auto documents = text::parse_yaml(config::completed_yaml(raw_, configuration_), "configuration", problems);
  LivePagesParts parts{*host_,
                       configuration_,
                       documents.empty() ? "null" : text::to_json(documents.front().root()),
                       [this] {
                         const cluster::kube::LeaderElector* const elector = campaign_;
                         return elector != nullptr && elector->is_leading();
                       },
                       [this] { return lease_is_fresh(); },
                       [milestones] { return milestones->is_stopping(); }};
  auto server =
      serving::HttpsServer::make({options_.bind_address, options_.secure_port, std::move(*keys)}, live_routes(parts),
                                 [this](const serving::Ask& ask) { return access_->check(ask); });
  if (!server.ok()) {
    complain(server.error().message);
    return false;
  }
  server_ = std::move(*server);
  spdlog::info("serving on {}:{}", options_.bind_address, server_->port());
  return true;
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
  return lease;
}

/// True when scheduling may begin.
bool LiveRun::elect(cluster::kube::IoThreads& io, Milestones& milestones) {
  const config::LeaderElection& election = configuration_.leader_election;
  if (!election.leader_elect) return true;
  cluster::kube::LeaderElectorCalls calls;
  calls.on_started = [&milestones] { milestones.reach(&Milestones::leading); };
  calls.on_lost = [this] {
    // Somebody else decides from now on, so nothing that was decided here may be written. There is no way back from
    // this inside one process; whoever started it starts it again.
    host_->stop_writing();
    spdlog::error("the lease is lost: ending at once");
    spdlog::shutdown();
    std::_Exit(1);
  };
  calls.may_renew = [this, &election] {
    if (host_->cycle_age_ns() <= election.renew_deadline_ns) return true;
    spdlog::error("one cycle has been running for {} s: the lease is not renewed",
                  host_->cycle_age_ns() / 1'000'000'000);
    return false;
  };
  cluster::kube::HttpClientOptions client;
  client.qps = configuration_.client_connection.qps;
  client.burst = configuration_.client_connection.burst;
  client.user_agent = fmt::format("berth/{}/leader-election", BERTH_PRODUCT_VERSION);
  client.connections_max = 2;
  elector_ = std::make_unique<cluster::kube::LeaderElector>(io, endpoint_, clock_, lease_options(), calls, client);
  campaign_ = elector_.get();
  elector_->start();
  return milestones.wait(&Milestones::leading);
}

std::string LiveRun::inventory() const {
  std::string out;
  for (const cluster::kube::KubeReader::Progress& progress : host_->reader().progress())
    if (progress.objects != 0)
      out += fmt::format("{}{} {}", out.empty() ? "" : ", ", progress.objects, progress.resource);
  return out.empty() ? "it is empty" : out;
}

void LiveRun::finish() {
  if (!host_->drain(std::chrono::duration_cast<std::chrono::milliseconds>(k_drain_limit)))
    spdlog::warn("some bindings are still open after {} s", k_drain_limit.count());
  host_->stop_writing();
  if (elector_) {
    elector_->release(std::chrono::duration_cast<std::chrono::milliseconds>(k_release_limit));
    elector_->stop();
  }
  spdlog::info("ended");
}

}  // namespace

int run_live(const RunOptions& options, std::ostream& err) { return LiveRun(options, err).run(); }

}  // namespace berth::app
