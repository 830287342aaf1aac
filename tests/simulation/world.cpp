// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.hpp"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>
#include <sstream>

#include "app/cli/run_options.hpp"
#include "app/commands/run_command.hpp"
#include "simulation/network.hpp"

namespace berth::simulation {
namespace {

constexpr std::int64_t k_s = 1'000'000'000;
// After the faults: time to get over them, and to see that it is quiet.
constexpr std::int64_t k_recovery_ns = 600 * k_s;
// At the end users and kubelets rest, so that what the replicas believe can be held against the server.
constexpr std::int64_t k_stillness_ns = 30 * k_s;
constexpr std::size_t k_story_lines = 60;

Kernel& kernel() { return Kernel::the(); }

/// `berth run` as main() calls it, but that it is one thread of the machine instead of its process.
void* run_program(void* arguments) {
  auto& words = *static_cast<std::vector<std::string>*>(arguments);
  CLI::App command("berth run");
  app::RunOptions options;
  app::add_run_flags(command, options);
  std::vector<std::string> reversed(words.rbegin(), words.rend());
  try {
    command.parse(std::move(reversed));
  } catch (const CLI::ParseError& error) {
    std::fprintf(stderr, "the flags of the replicas are wrong: %s\n", error.what());
    std::abort();
  }
  options.all = app::flag_values(command);
  ::_exit(app::run_live(options));
}

}  // namespace

World::World(WorldOptions options) : options_(std::move(options)) {}

Dice World::dice_of(const std::string& what) const {
  std::uint64_t number = options_.seed * 0x9fb21c651e98df25ULL + 0x5eed;
  for (const char c : what) number = (number ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
  return Dice(number);
}

bool World::is_left_out(const std::string& what) {
  if (options_.with && !options_.with->contains(what)) return true;
  happened_.push_back(what);
  return false;
}

void World::tell(const std::string& line) {
  std::string whole = fmt::format("{:9.3f} s  {}", static_cast<double>(now_ns() - began_ns_) / 1e9, line);
  if (options_.tells) std::printf("%s\n", whole.c_str());
  story_.push_back(std::move(whole));
  if (story_.size() > k_story_lines) story_.pop_front();
}

void World::finish(const std::string& rule, const std::string& what) {
  WorldResult result;
  result.digest = kernel().digest();
  result.switches = kernel().switches();
  result.faults = faults_done_ + Network::the().faults_done();
  result.pods = pods_;
  result.bound = ledger_ ? ledger_->bound_count() : 0;
  result.evicted = ledger_ ? ledger_->evicted_count() : 0;
  result.starts = starts_;
  result.happened = happened_;
  result.virtual_s = static_cast<double>(now_ns() - began_ns_) / 1e9;
  result.rule = rule;
  result.what = what;
  if (!options_.log_dir.empty())
    for (const Replica& replica : replicas_)
      if (replica.machine != nullptr)
        std::ofstream(options_.log_dir + "/" + replica.machine->name + ".log") << replica.machine->log;
  std::fflush(stdout);
  ::_exit(done_(result, story_));
}

void World::later(std::int64_t delay_ns, std::function<void()> task) {
  agenda_.emplace(now_ns() + delay_ns, std::move(task));
}

void World::begin_server() {
  server_machine_ = &kernel().add_machine("server");
  kernel().begin_thread(
      *server_machine_,
      [](void* argument) -> void* {
        World& world = *static_cast<World*>(argument);
        tests::ApiServerOptions options;
        options.tls = false;
        options.accept_anonymous = true;  // credentials are not sent without TLS
        options.thread_count = 1;
        options.bookmark_period = std::chrono::seconds(20);
        options.on_write = [](const tests::SeenWrite&) {};
        world.server_ = std::make_unique<tests::ApiServer>(options);
        world.server_is_ready_ = true;
        kernel().wake(&world.server_is_ready_, 1);
        kernel().wait_for(&world, k_never);
        return nullptr;
      },
      this);
  while (!server_is_ready_) kernel().wait_for(&server_is_ready_, k_never);
  for (const char* name : {"default", "kube-system"})
    server_->create(fmt::format(R"({{"apiVersion":"v1","kind":"Namespace","metadata":{{"name":"{}"}}}})", name));
  std::ofstream(options_.kubeconfig_dir + "/kubeconfig") << server_->kubeconfig();
}

void World::start(Replica& replica) {
  replica.machine = &kernel().add_machine(fmt::format("replica-{}-{}", replica.number, ++replica.starts));
  replica.machine->keeps_log = true;
  replica.arguments = {"--kubeconfig=" + options_.kubeconfig_dir + "/kubeconfig",
                       "--plugin-dir=" + options_.plugin_dir,
                       "--secure-port=0",
                       "--kube-api-qps=-1",
                       "--sandbox=off",
                       "--leader-elect=true"};
  ++starts_;
  tell(replica.machine->name + " starts");
  kernel().begin_thread(*replica.machine, run_program, new std::vector<std::string>(replica.arguments));
}

void World::look_after(Replica& replica) {
  if (replica.machine->is_alive) return;
  if (replica.starts_again_ns == 0) {
    tell(fmt::format("{} has ended with {}", replica.machine->name, replica.machine->status));
    if (!options_.log_dir.empty())
      std::ofstream(options_.log_dir + "/" + replica.machine->name + ".log") << replica.machine->log;
    replica.machine->log.clear();
    Dice dice = dice_of("start of " + replica.machine->name);
    replica.starts_again_ns = now_ns() + some_time(dice, 0.1, 20);
  }
  if (now_ns() < replica.starts_again_ns) return;
  replica.starts_again_ns = 0;
  start(replica);
}

void World::patch(const char* plural, const std::string& ns, const std::string& name, const std::string& text,
                  bool status) {
  store().patch(resource(plural), ns, name, boost::json::parse(text), false, status);
}

void World::remove(const char* plural, const std::string& ns, const std::string& name, bool at_once) {
  store().remove(
      resource(plural), ns, name,
      at_once ? boost::json::parse(R"({"gracePeriodSeconds":0})") : boost::json::value(boost::json::object()));
}

/// Gives the ledger what has changed at the server since the last time, in the order of versions.
void World::take_over_changes() {
  struct One {
    const tests::ApiResource* resource;
    tests::Change change;
  };
  std::vector<One> all;
  const std::uint64_t until = store().version();
  if (until == seen_version_) return;
  static const std::vector<std::pair<const char*, const char*>> k_read{{"", "nodes"},
                                                                       {"", "pods"},
                                                                       {"", "persistentvolumes"},
                                                                       {"", "persistentvolumeclaims"},
                                                                       {"policy", "poddisruptionbudgets"},
                                                                       {"coordination.k8s.io", "leases"}};
  for (const auto& [group, plural] : k_read) {
    const tests::ApiResource& resource = *store().find(group, "v1", plural);
    auto changes = store().changes_after(resource, seen_version_, 1'000'000);
    if (!changes) finish("the simulation itself", "history was forgotten before it was read");
    for (tests::Change& change : *changes)
      if (change.version <= until) all.push_back({&resource, std::move(change)});
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const One& a, const One& b) { return a.change.version < b.change.version; });
  seen_version_ = until;
  const std::int64_t ahead_ns = kernel().wall_ns(kernel().world()) - now_ns();
  for (const auto& [resource, change] : all) {
    const tests::Stored& named = change.after ? *change.after : *change.before;
    boost::json::monotonic_resource memory;
    std::optional<boost::json::value> object;
    if (change.after) object = boost::json::parse(change.after->text, &memory);
    ledger_->take(resource->plural, named.ns, named.name, object ? &*object : nullptr, change.wall_ns - ahead_ns);
  }
}

/// With all of it taken over before: no change comes in between.
void World::forget_history(const std::function<void()>& forget) {
  kernel().stay_steady(1);
  do take_over_changes();
  while (seen_version_ != store().version());
  forget();
  seen_version_ = store().version();
  kernel().stay_steady(-1);
}

/// Until `end_ns`: what is due, then the next thing that is.
void World::step() {
  while (!agenda_.empty() && agenda_.begin()->first <= now_ns()) {
    const std::function<void()> task = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    take_over_changes();
    task();
  }
  take_over_changes();
  for (Replica& replica : replicas_) look_after(replica);
  const std::int64_t next_ns = agenda_.empty() ? k_never : agenda_.begin()->first;
  kernel().wait_until(std::min(next_ns, now_ns() + k_s));
}

void World::look() {
  take_over_changes();
  ledger_->look_at_waiting(now_ns());
  later(k_s, [this] { look(); });
}

void World::ask_for_beliefs() {
  for (Replica& replica : replicas_) {
    if (!replica.machine->is_alive || !ledger_->holder().starts_with(replica.machine->name + "_")) continue;
    tell(replica.machine->name + " is asked what it believes");
    const std::size_t log_from = replica.machine->log.size();
    kernel().signal(*replica.machine, SIGUSR2);
    later(5 * k_s, [this, &replica, log_from] { judge_beliefs(replica, log_from); });
    return;
  }
  finish("there is a leader", "no replica that is alive holds the lease");
}

void World::judge_beliefs(const Replica& leader, std::size_t log_from) {
  take_over_changes();
  if (leader.machine->log.size() < log_from) finish("there is a leader", "the one that was asked has ended");
  std::istringstream lines(leader.machine->log.substr(log_from));
  std::set<std::string> queued;
  bool has_compared = false;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t comparer = line.find("comparer: ");
    has_compared = has_compared || comparer != std::string::npos;
    if ((comparer != std::string::npos && line.find("agree about") == std::string::npos &&
         line.find("cannot be read") == std::string::npos) ||
        line.find("cache: pod ") != std::string::npos || line.find("are assumed, and") != std::string::npos)
      finish("the cache is as the server is", line);
    if (const std::size_t nominated = line.find("nominated: "); nominated != std::string::npos) {
      const std::string key = line.substr(nominated + 11, line.find(" to ", nominated) - nominated - 11);
      const auto pod = ledger_->pods().find(key);
      if (pod == ledger_->pods().end() || !pod->second.node.empty()) finish("only pods that wait are nominated", line);
    }
    if (const std::size_t entry = line.find("queue: {"); entry != std::string::npos) {
      boost::system::error_code wrong;
      const boost::json::value pod = boost::json::parse(line.substr(entry + 7), wrong);
      if (!wrong) queued.insert(key_of(tests::text_at(pod, "/namespace"), tests::text_at(pod, "/name")));
    }
  }
  if (!has_compared) finish("a replica tells what it believes", "the dump has no comparison with the server");
  for (const std::string& key : queued)
    if (!ledger_->pods().contains(key) || !ledger_->pods().at(key).node.empty())
      finish("the queue is as the server is", key + " is queued and does not wait");
  for (const auto& [key, pod] : ledger_->pods())
    if (pod.node.empty() && !pod.is_over && !pod.is_leaving && !pod.is_strange && !queued.contains(key))
      finish("the queue is as the server is", key + " waits and is not queued");
}

void World::run(int (*done)(const WorldResult&, const std::deque<std::string>&)) {
  done_ = done;
  kernel().begin(options_.seed, 20);
  began_ns_ = now_ns();
  if (options_.history_descriptor >= 0) kernel().write_history_to(options_.history_descriptor);
  kernel().on_standstill = [this] { finish("something always goes on", "everything waits for ever"); };
  begin_server();
  ledger_ =
      std::make_unique<Ledger>([this](const std::string& rule, const std::string& what) { finish(rule, what); },
                               [this](const std::string& line) { tell(line); }, Ledger::Leaders::known_from_the_start);
  Network::the().on_send = [this](const Machine& machine, const Socket&, std::string_view bytes) {
    const std::size_t method = bytes.find(' '), head = bytes.find("\r\n\r\n");
    if (method == std::string_view::npos || head == std::string_view::npos) return;
    const std::size_t path = bytes.find(' ', method + 1);
    std::optional<SentWrite> write =
        read_write(bytes.substr(0, method), bytes.substr(method + 1, path - method - 1), bytes.substr(head + 4));
    if (!write) return;
    write->by = machine.name;
    write->sent_ns = now_ns();
    ledger_->sent(std::move(*write));
  };
  begin_objects();
  Dice dice = dice_of("replicas");
  const int count = options_.replicas > 0 ? options_.replicas : static_cast<int>(dice.between(1, 3));
  replicas_.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    replicas_[static_cast<std::size_t>(i)].number = i + 1;
    start(replicas_[static_cast<std::size_t>(i)]);
  }
  begin_faults();
  later(k_s, [this] { look(); });
  const auto fault_ns = static_cast<std::int64_t>(options_.fault_minutes * 60e9);
  later(fault_ns, [this] { end_faults(); });
  later(fault_ns + k_recovery_ns, [this] {
    is_still_ = true;
    later(k_stillness_ns, [this] { ask_for_beliefs(); });
  });
  const std::int64_t end_ns = began_ns_ + fault_ns + k_recovery_ns + k_stillness_ns + 10 * k_s;
  while (now_ns() < end_ns) step();
  finish({}, {});
}

}  // namespace berth::simulation
