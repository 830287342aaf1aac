// SPDX-License-Identifier: Apache-2.0
// What goes wrong, by kind.
#include <signal.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <iterator>

#include "simulation/network.hpp"
#include "simulation/world.hpp"

namespace berth::simulation {
namespace {

constexpr std::int64_t k_s = 1'000'000'000, k_ms = 1'000'000;

Kernel& kernel() { return Kernel::the(); }

}  // namespace

const std::vector<std::string>& fault_kinds() {
  static const std::vector<std::string> kinds{"answers",    "late",   "cut",      "reset",  "silence", "partition",
                                              "restart",    "crash",  "suspend",  "clock",  "stop",    "nodes",
                                              "compaction", "labels", "resource", "poison", "drift"};
  return kinds;
}

void World::begin_faults() {
  Dice dice = dice_of("faults");
  goes_wrong_ = true;
  for (const std::string& kind : fault_kinds()) {
    const bool is_on = dice.roll(0.6);
    const double per_minute = dice.roll(0.3) ? 3 : 1;
    if (!(options_.only.empty() ? is_on : options_.only.contains(kind))) continue;
    struct Again {
      World& world;
      std::string kind;
      double per_minute;
      int number = 0;
      void operator()() {
        if (!world.goes_wrong_) return;
        const std::string what = fmt::format("{}.{}", kind, ++number);
        Dice own = world.dice_of(what);
        const std::int64_t next_ns = some_time(own, 0.1, 120 / per_minute);
        if (!world.is_left_out(what)) world.do_fault(kind, own);
        world.later(next_ns, *this);
      }
    };
    later(some_time(dice, 10, 30), Again{*this, kind, per_minute});
  }
}

void World::do_fault(const std::string& kind, Dice& dice) {
  const std::int64_t length_ns = some_time(dice, 1, dice.roll(0.2) ? 90 : 15);
  ++faults_done_;
  if (kind == "answers") return spoil_answers(dice, length_ns);
  if (kind == "nodes") return change_nodes(dice);
  if (kind == "labels") return change_labels(dice);
  if (kind == "poison") return poison(dice, length_ns);
  if (kind == "restart") {
    tell("fault: the API server starts again");
    return forget_history([this] { server_->restart(); });
  }
  if (kind == "compaction") {
    tell("fault: the API server forgets history");
    return forget_history([this] { store().compact(); });
  }
  if (kind == "late" || kind == "cut" || kind == "reset") return spoil_network(kind, dice, length_ns);
  spoil_replica(kind, dice, length_ns);
}

void World::spoil_answers(Dice& dice, std::int64_t length_ns) {
  const double probability = dice.roll(0.2) ? 0.5 : 0.1;
  double* const all[] = {&server_faults_.lost_answer,   &server_faults_.too_many,   &server_faults_.internal_error,
                         &server_faults_.conflict,      &server_faults_.gone,       &server_faults_.truncated,
                         &server_faults_.slow,          &server_faults_.unanswered, &server_faults_.dropped_watch,
                         &server_faults_.repeated_event};
  const char* const names[] = {"writes carried out whose answer is lost",
                               "429",
                               "500",
                               "409",
                               "410",
                               "cut bodies",
                               "slow answers",
                               "no answers",
                               "watches that end",
                               "events told twice"};
  const std::size_t which = dice.below(std::size(all));
  *all[which] = which == 7 ? probability / 5 : probability;
  server_faults_.slow_max = std::chrono::milliseconds(dice.between(100, 40'000));
  server_faults_.seed = dice.next();
  server_->inject(server_faults_);
  tell(fmt::format("fault: {}, {:.0f} %, for {} s", names[which], 100 * *all[which], length_ns / k_s));
  later(length_ns, [this, one = all[which]] {
    *one = 0;
    server_->inject(server_faults_);
  });
}

void World::spoil_network(const std::string& kind, Dice& dice, std::int64_t length_ns) {
  NetworkFaults& faults = Network::the().faults;
  double* what = &faults.late;
  if (kind == "late") {
    faults.late_most_ns = dice.roll(0.2) ? 120 * k_s : 5 * k_s;
    tell(fmt::format("fault: some bytes come up to {} s late, for {} s", faults.late_most_ns / k_s, length_ns / k_s));
  } else {
    what = kind == "cut" ? &faults.cut : &faults.reset;
    tell(fmt::format("fault: connections {}, for {} s", kind == "cut" ? "are cut in the middle" : "break",
                     length_ns / k_s));
  }
  *what = kind == "late" ? 0.05 : 0.03;
  later(length_ns, [what] { *what = 0; });
}

void World::spoil_replica(const std::string& kind, Dice& dice, std::int64_t length_ns) {
  Network& network = Network::the();
  Machine& machine = *replicas_[dice.below(replicas_.size())].machine;
  if (!machine.is_alive) return;
  if (kind == "silence") {
    if (network.break_one(machine, true)) tell("fault: a connection of " + machine.name + " is silent");
  } else if (kind == "partition") {
    tell(fmt::format("fault: {} is cut off for {} s", machine.name, length_ns / k_s));
    network.set_cut(machine, true);
    later(length_ns, [&network, &machine] { network.set_cut(machine, false); });
  } else if (kind == "resource") {
    static const char* const k_held[] = {"pods", "nodes", "poddisruptionbudgets", "leases", "kube-scheduler"};
    const std::string held = k_held[dice.below(std::size(k_held))];
    tell(fmt::format("fault: {} hears nothing of {} for {} s", machine.name, held, length_ns / k_s));
    network.hold(machine, held, true);
    later(length_ns, [&network, &machine, held] { network.hold(machine, held, false); });
  } else if (kind == "crash") {
    crash(machine, dice.roll(0.3));
  } else if (kind == "suspend") {
    if (machine.is_suspended || !kernel().is_at_rest(machine)) return;
    tell(fmt::format("fault: {} stands still for {} s", machine.name, length_ns / k_s));
    machine.is_suspended = true;
    later(length_ns, [&machine] { kernel().resume(machine); });
  } else if (kind == "clock") {
    machine.wall_ahead_ns = dice.between(-7200, 7200) * k_s;
    tell(fmt::format("fault: the clock of {} is {} s ahead", machine.name, machine.wall_ahead_ns / k_s));
  } else if (kind == "drift") {
    machine.wall_ahead_ns = kernel().wall_ns(machine) - kernel().wall_ns(kernel().world());
    machine.drifts_from_ns = now_ns();
    machine.drift_ppm = dice.between(-50'000, 50'000);
    tell(fmt::format("fault: the clock of {} goes wrong by {} ppm", machine.name, machine.drift_ppm));
  } else if (kind == "stop") {
    tell(fmt::format("{} is told to end", machine.name));
    kernel().signal(machine, SIGTERM);
  }
}

void World::crash(Machine& machine, bool quietly) {
  if (!machine.is_alive || !goes_wrong_) return;
  if (!kernel().is_at_rest(machine)) return later(k_ms, [this, &machine, quietly] { crash(machine, quietly); });
  tell(fmt::format("fault: {} {}", machine.name, quietly ? "loses power" : "is killed"));
  kernel().kill(machine, 137);
  Network::the().machine_ended(machine, quietly);
}

void World::change_nodes(Dice& dice) {
  const auto& nodes = ledger_->nodes();
  auto one = nodes.begin();
  if (!nodes.empty()) std::advance(one, static_cast<std::ptrdiff_t>(dice.below(nodes.size())));
  const std::uint64_t what = dice.below(4);
  if (nodes.size() < 4 || what == 0) {
    const std::string name = fmt::format("n{}", dice.below(20) + 100);
    if (!nodes.contains(name)) create_node(name, dice);
  } else if (what == 1) {
    const std::string name = one->first;
    // Its pods go with it, as the garbage collector has it.
    std::vector<std::string> pods;
    for (const auto& [key, pod] : ledger_->pods())
      if (pod.node == name) pods.push_back(pod.name);
    for (const std::string& pod : pods) remove("pods", "default", pod, true);
    remove("nodes", "", name, true);
  } else if (what == 2) {
    patch("nodes", "", one->first,
          one->second.is_closed ? R"({"spec":{"unschedulable":null}})" : R"({"spec":{"unschedulable":true}})", false);
  } else {
    patch("nodes", "", one->first,
          fmt::format(R"({{"status":{{"allocatable":{{"cpu":"{}m"}}}}}})", 1000 * dice.between(2, 8)), true);
  }
}

void World::change_labels(Dice& dice) {
  const auto& nodes = ledger_->nodes();
  if (nodes.empty()) return;
  auto one = nodes.begin();
  std::advance(one, static_cast<std::ptrdiff_t>(dice.below(nodes.size())));
  const std::uint64_t what = dice.below(4);
  std::string change;
  if (what == 0)
    change = fmt::format(R"({{"metadata":{{"labels":{{"zone":"z{}"}}}}}})", dice.below(3));
  else if (what == 1)
    change = fmt::format(R"({{"metadata":{{"labels":{{"disk":"{}"}}}}}})", dice.roll(0.5) ? "ssd" : "hdd");
  else if (what == 2)
    change =
        fmt::format(R"({{"spec":{{"taints":[{{"key":"for","value":"t{}","effect":"NoSchedule"}}]}}}})", dice.below(3));
  else
    change = R"({"spec":{"taints":null}})";
  patch("nodes", "", one->first, change, false);
}

/// Objects that are stored and cannot be read, or are very large; they are mended or go after a while.
void World::poison(Dice& dice, std::int64_t length_ns) {
  const std::uint64_t what = dice.below(3);
  const std::string name = fmt::format("strange-{:x}", dice.next() & 0xffffff);
  if (what == 0 && !ledger_->nodes().empty()) {
    auto one = ledger_->nodes().begin();
    std::advance(one, static_cast<std::ptrdiff_t>(dice.below(ledger_->nodes().size())));
    const std::string node = one->first;
    tell(fmt::format("fault: node {} cannot be read for {} s", node, length_ns / k_s));
    patch("nodes", "", node, R"({"status":{"allocatable":{"memory":"a lot"}}})", true);
    later(length_ns, [this, node] {
      if (ledger_->nodes().contains(node))
        patch("nodes", "", node, R"({"status":{"allocatable":{"memory":"8192Mi"}}})", true);
    });
    return;
  }
  const std::string note = what == 1 ? std::string(std::size_t{200} << 10, 'x') : "";
  tell(fmt::format("fault: {} {}", name, what == 1 ? "is very large" : "cannot be read"));
  server_->create(fmt::format(
      R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","annotations":{{"note":"{}"}}}},"spec":{{"containers":[{{"name":"c","image":"i","resources":{{"requests":{{"cpu":"{}"}}}}}}]}}}})",
      name, note, what == 1 ? "100m" : "a lot"));
  later(length_ns, [this, name] { remove("pods", "default", name, true); });
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
  ledger_->set_quiet_since(now_ns());
  tell("the faults are over");
}

}  // namespace berth::simulation
