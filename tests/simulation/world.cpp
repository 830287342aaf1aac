// SPDX-License-Identifier: Apache-2.0
#include "simulation/world.hpp"

#include <signal.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <fstream>

#include "app/cli/run_options.hpp"
#include "app/commands/run_command.hpp"
#include "simulation/network.hpp"

namespace berth::simulation {
namespace {

constexpr std::int64_t k_s = 1'000'000'000, k_ms = 1'000'000;
// After the faults: time to get over them, and the age from which a pod that fits must be bound.
constexpr std::int64_t k_recovery_ns = 900 * k_s, k_patience_ns = 600 * k_s;
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

std::string text_of_pod(const std::string& name, int cpu_m, int memory_mi, const std::string& zone, int priority) {
  std::string selector = zone.empty() ? "" : fmt::format(R"(,"nodeSelector":{{"zone":"{}"}})", zone);
  return fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","labels":{{"app":"a{}"}}}},"spec":{{"priority":{}{},"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}m","memory":"{}Mi"}}}}}}]}}}})",
      name, cpu_m % 3, priority, selector, cpu_m, memory_mi);
}

}  // namespace

const std::vector<std::string>& fault_kinds() {
  static const std::vector<std::string> kinds{"answers", "late",    "cut",   "reset", "silence", "partition", "restart",
                                              "crash",   "suspend", "clock", "stop",  "nodes",   "compaction"};
  return kinds;
}

World::World(WorldOptions options) : options_(std::move(options)), dice_(options_.seed ^ 0x5eed) {}

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
  result.pods = static_cast<std::size_t>(next_pod_);
  result.bound = ledger_ ? ledger_->bound_count() : 0;
  result.starts = starts_;
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

std::int64_t World::some_time(double least_s, double most_s) {
  return dice_.between(static_cast<std::int64_t>(least_s * 1e9), static_cast<std::int64_t>(most_s * 1e9));
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
    replica.starts_again_ns = now_ns() + some_time(0.1, 20);
  }
  if (now_ns() < replica.starts_again_ns) return;
  replica.starts_again_ns = 0;
  start(replica);
}

void World::create_node(const std::string& name) {
  const int cpu_m = 1000 * static_cast<int>(dice_.between(2, 8)),
            memory_mi = 1024 * static_cast<int>(dice_.between(4, 16));
  const int pods = static_cast<int>(dice_.between(5, 20));
  const std::string amount = fmt::format(R"({{"cpu":"{}m","memory":"{}Mi","pods":"{}"}})", cpu_m, memory_mi, pods);
  server_->create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"{}","labels":{{"kubernetes.io/hostname":"{}","zone":"z{}"}}}},"status":{{"allocatable":{},"capacity":{}}}}})",
      name, name, dice_.below(3), amount, amount));
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

void World::add_pods() {
  const std::size_t most = 40;
  const auto count = static_cast<int>(dice_.roll(0.1) ? dice_.between(5, 25) : dice_.between(1, 3));
  for (int i = 0; i < count && ledger_->waiting_count() < most; ++i) {
    const std::string zone = dice_.roll(0.2) ? fmt::format("z{}", dice_.below(3)) : "";
    server_->create(text_of_pod(fmt::format("p{:05}", next_pod_++), 100 * static_cast<int>(dice_.between(1, 15)),
                                128 * static_cast<int>(dice_.between(1, 16)), zone, dice_.roll(0.05) ? 100 : 0));
  }
  later(some_time(0.2, 4), [this] { add_pods(); });
}

void World::change_nodes() {
  const auto& nodes = ledger_->nodes();
  auto one = nodes.begin();
  if (!nodes.empty()) std::advance(one, static_cast<std::ptrdiff_t>(dice_.below(nodes.size())));
  const std::uint64_t what = dice_.below(4);
  if (nodes.size() < 4 || what == 0) {
    create_node(fmt::format("n{}", dice_.roll(0.5) ? next_node_++ : static_cast<int>(dice_.below(20)) + 100));
  } else if (what == 1) {
    const std::string name = one->first;
    // Its pods go with it, as the garbage collector has it.
    for (const auto& [pod, state] : ledger_->pods())
      if (state.node == name) remove("pods", "default", pod, true);
    remove("nodes", "", name, true);
  } else if (what == 2) {
    patch("nodes", "", one->first,
          one->second.is_closed ? R"({"spec":{"unschedulable":null}})" : R"({"spec":{"unschedulable":true}})", false);
  } else {
    patch("nodes", "", one->first,
          fmt::format(R"({{"status":{{"allocatable":{{"cpu":"{}m"}}}}}})", 1000 * dice_.between(2, 8)), true);
  }
}

/// Pods that are bound begin, run and end; pods that are to go, go.
void World::run_kubelets() {
  const std::map<std::string, PodState> pods = ledger_->pods();
  for (const auto& [name, pod] : pods) {
    if (pod.node.empty()) continue;
    if (pod.is_leaving) {
      if (dice_.roll(0.5)) remove("pods", "default", name, true);
    } else if (!pod.is_running && !pod.is_over) {
      if (dice_.roll(0.5)) patch("pods", "default", name, R"({"status":{"phase":"Running"}})", true);
    } else if (pod.is_running && now_ns() - pod.bound_ns > 20 * k_s && dice_.roll(0.03)) {
      patch("pods", "default", name, R"({"status":{"phase":"Succeeded"}})", true);
    } else if (pod.is_over && dice_.roll(0.3)) {
      remove("pods", "default", name, true);
    } else if (pod.is_running && dice_.roll(0.002)) {
      remove("pods", "default", name, false);
    }
  }
  later(some_time(0.5, 1.5), [this] { run_kubelets(); });
}

void World::do_fault(const std::string& kind) {
  Network& network = Network::the();
  Replica& replica = replicas_[dice_.below(replicas_.size())];
  Machine& machine = *replica.machine;
  const auto for_a_while = [this](double& what, double value, std::int64_t length_ns) {
    what = value;
    later(length_ns, [&what] { what = 0; });
  };
  const std::int64_t length_ns = some_time(1, dice_.roll(0.2) ? 90 : 15);
  ++faults_done_;
  if (kind == "answers") {
    const double probability = dice_.roll(0.2) ? 0.5 : 0.1;
    double* const all[] = {&server_faults_.lost_answer,   &server_faults_.too_many,   &server_faults_.internal_error,
                           &server_faults_.conflict,      &server_faults_.gone,       &server_faults_.truncated,
                           &server_faults_.slow,          &server_faults_.unanswered, &server_faults_.dropped_watch,
                           &server_faults_.repeated_event};
    const std::size_t which = dice_.below(std::size(all));
    *all[which] = which == 7 ? probability / 5 : probability;
    server_faults_.slow_max = std::chrono::milliseconds(dice_.between(100, 40'000));
    server_faults_.seed = dice_.next();
    server_->inject(server_faults_);
    tell(fmt::format("fault: answers, kind {}, {}, for {} s", which, *all[which], length_ns / k_s));
    later(length_ns, [this, one = all[which]] {
      *one = 0;
      server_->inject(server_faults_);
    });
  } else if (kind == "late") {
    tell(fmt::format("fault: some bytes come late, for {} s", length_ns / k_s));
    network.faults.late_most_ns = dice_.roll(0.2) ? 120 * k_s : 5 * k_s;
    for_a_while(network.faults.late, 0.05, length_ns);
  } else if (kind == "cut") {
    tell(fmt::format("fault: connections are cut in the middle, for {} s", length_ns / k_s));
    for_a_while(network.faults.cut, 0.03, length_ns);
  } else if (kind == "reset") {
    tell(fmt::format("fault: connections break, for {} s", length_ns / k_s));
    for_a_while(network.faults.reset, 0.03, length_ns);
  } else if (kind == "silence") {
    if (machine.is_alive && network.break_one(machine, true))
      tell("fault: a connection of " + machine.name + " is silent");
  } else if (kind == "partition") {
    tell(fmt::format("fault: {} is cut off for {} s", machine.name, length_ns / k_s));
    network.set_cut(machine, true);
    later(length_ns, [&network, &machine] { network.set_cut(machine, false); });
  } else if (kind == "restart") {
    tell("fault: the API server starts again");
    forget_history([this] { server_->restart(); });
  } else if (kind == "compaction") {
    tell("fault: the API server forgets history");
    forget_history([this] { store().compact(); });
  } else if (kind == "crash") {
    if (!machine.is_alive) return;
    if (!kernel().is_at_rest(machine)) return later(k_ms, [this] { do_fault("crash"); });
    const bool quietly = dice_.roll(0.3);
    tell(fmt::format("fault: {} {}", machine.name, quietly ? "loses power" : "is killed"));
    kernel().kill(machine, 137);
    Network::the().machine_ended(machine, quietly);
  } else if (kind == "suspend") {
    if (!machine.is_alive || machine.is_suspended || !kernel().is_at_rest(machine)) return;
    tell(fmt::format("fault: {} stands still for {} s", machine.name, length_ns / k_s));
    machine.is_suspended = true;
    later(length_ns, [&machine] { kernel().resume(machine); });
  } else if (kind == "clock") {
    machine.wall_ahead_ns = dice_.between(-7200, 7200) * k_s;
    tell(fmt::format("fault: the clock of {} is {} s ahead", machine.name, machine.wall_ahead_ns / k_s));
  } else if (kind == "stop") {
    if (!machine.is_alive) return;
    tell(fmt::format("{} is told to end", machine.name));
    kernel().signal(machine, SIGTERM);
  } else if (kind == "nodes") {
    change_nodes();
  }
}

/// With all of it taken over before: no change comes in between.
void World::forget_history(const std::function<void()>& forget) {
  kernel().stay_steady(1);
  do ledger_->catch_up();
  while (ledger_->version() != store().version());
  forget();
  ledger_->skip_what_is_forgotten();
  kernel().stay_steady(-1);
}

void World::end_faults() {
  goes_wrong_ = false;
  Network& network = Network::the();
  network.faults.late = network.faults.cut = network.faults.reset = network.faults.silence = 0;
  server_faults_ = tests::Faults{};
  server_->inject(server_faults_);
  for (Replica& replica : replicas_) {
    network.set_cut(*replica.machine, false);
    if (replica.machine->is_suspended) kernel().resume(*replica.machine);
  }
  tell("the faults are over");
}

/// Until `end_ns`: what is due, then the next thing that is.
void World::step() {
  while (!agenda_.empty() && agenda_.begin()->first <= now_ns()) {
    const std::function<void()> task = std::move(agenda_.begin()->second);
    agenda_.erase(agenda_.begin());
    ledger_->catch_up();
    task();
  }
  ledger_->catch_up();
  for (Replica& replica : replicas_) look_after(replica);
  const std::int64_t next_ns = agenda_.empty() ? k_never : agenda_.begin()->first;
  kernel().wait_until(std::min(next_ns, now_ns() + k_s));
}

void World::run(int (*done)(const WorldResult&, const std::deque<std::string>&)) {
  done_ = done;
  kernel().begin(options_.seed, 20);
  began_ns_ = now_ns();
  if (options_.history_descriptor >= 0) kernel().write_history_to(options_.history_descriptor);
  kernel().on_standstill = [this] { finish("something always goes on", "everything waits for ever"); };
  begin_server();
  ledger_ = std::make_unique<Ledger>(
      store(), [this](const std::string& rule, const std::string& what) { finish(rule, what); },
      [this](const std::string& line) { tell(line); });
  Network::the().on_send = [this](const Machine& machine, const Socket&, std::string_view bytes) {
    ledger_->sending(machine, bytes);
  };
  for (int i = 0; i < 6; ++i) create_node(fmt::format("n{}", next_node_++));
  const int count = options_.replicas > 0 ? options_.replicas : static_cast<int>(dice_.between(1, 3));
  replicas_.resize(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    replicas_[static_cast<std::size_t>(i)].number = i + 1;
    start(replicas_[static_cast<std::size_t>(i)]);
  }
  for (const std::string& kind : fault_kinds()) {
    const bool is_on = options_.only.empty() ? dice_.roll(0.6) : options_.only.contains(kind);
    if (is_on) faults_.push_back({kind, dice_.roll(0.3) ? 3.0 : 1.0});
  }
  later(k_s, [this] { add_pods(); });
  later(k_s, [this] { run_kubelets(); });
  goes_wrong_ = true;
  for (const Fault& fault : faults_) {
    struct Again {
      World& world;
      Fault fault;
      void operator()() const {
        if (!world.goes_wrong_) return;
        world.do_fault(fault.kind);
        world.later(world.some_time(0.1, 2 * 60 / fault.per_minute), *this);
      }
    };
    later(some_time(10, 30), Again{*this, fault});
  }
  const auto fault_ns = static_cast<std::int64_t>(options_.fault_minutes * 60e9);
  later(fault_ns, [this] { end_faults(); });
  const std::int64_t end_ns = began_ns_ + fault_ns + k_recovery_ns;
  while (now_ns() < end_ns) step();
  ledger_->catch_up();
  ledger_->judge_liveness(k_patience_ns);
  finish({}, {});
}

}  // namespace berth::simulation
