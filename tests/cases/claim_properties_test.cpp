// SPDX-License-Identifier: Apache-2.0
// Random clusters with devices, claims and random events (pods and claims that go, writes and bindings that fail, devices that
// get tainted), through the whole scheduler with verdicts reused, computed again, and both compared. No device is given twice, no
// counter and no capacity is exceeded, bound pods have their claims, what failed has released what it reserved, and the runs end
// alike, down to the text of every claim. 100 clusters, 20 under sanitizers, 1,000 with BERTH_LONG; BERTH_SEED=n runs that one only.
#include <gtest/gtest.h>
#include <spdlog/fmt/fmt.h>

#include <map>
#include <random>
#include <set>

#include "app/plugins/decode_retention.hpp"
#include "app/simulate/simulation.hpp"
#include "cases/put_json.hpp"
#include "config/resolve.hpp"
#include "model/quantity.hpp"
#include "support/planned_failures.hpp"
#include "support/seeds.hpp"
#include "text/parse.hpp"

namespace berth::cases::claim_properties {
namespace {

using cluster::RecordedWrite;
using config::VerdictReuse;

constexpr const char* k_claims = "resource.k8s.io/v1/resourceclaims";
constexpr int k_steps = 40;
constexpr int k_nic_gib = 10;  // bandwidth of each network card, which pods share
constexpr int k_card_slots = 4;

struct Event {
  enum class Kind { put, remove_pod, remove_claim, fail_write, conflict, fail_bind, advance } kind;
  std::string text;  // manifest, or name
  std::int64_t duration_ms = 0;
};

std::string object(const std::string& kind, const std::string& name, const std::string& rest,
                   bool has_namespace = false) {
  return fmt::format(R"({{"apiVersion":"resource.k8s.io/v1","kind":"{}","metadata":{{"name":"{}"{}}},"spec":{}}})",
                     kind, name, has_namespace ? R"(,"namespace":"default")" : "", rest);
}
std::string request(const std::string& name, const std::string& device_class, const std::string& more = "") {
  return fmt::format(R"({{"name":"{}","exactly":{{"deviceClassName":"{}"{}}}}})", name, device_class, more);
}

/// What a template or a claim may ask for.
const std::vector<std::string>& claim_specs() {
  static const std::vector<std::string> k_all = {
      R"({"devices":{"requests":[)" + request("r", "gpu") + "]}}",
      R"({"devices":{"requests":[)" + request("r", "gpu", R"(,"allocationMode":"ExactCount","count":2)") +
          R"(],"constraints":[{"matchAttribute":"gpu.example.com/group"}]}})",
      R"({"devices":{"requests":[)" +
          request("r", "gpu",
                  R"(,"selectors":[{"cel":{"expression":"device.attributes['gpu.example.com'].model == 'L'"}}])") +
          "]}}",
      R"({"devices":{"requests":[{"name":"r","firstAvailable":[{"name":"two","deviceClassName":"gpu","allocationMode":)"
      R"("ExactCount","count":2},{"name":"part","deviceClassName":"part"}]}]}})",
      R"({"devices":{"requests":[)" + request("r", "part") + "]}}",
      R"({"devices":{"requests":[)" + request("r", "nic", R"(,"capacity":{"requests":{"bandwidth":"3Gi"}})") + "]}}",
      R"({"devices":{"requests":[)" + request("r", "gpu", R"(,"adminAccess":true)") + "]}}",
      R"({"devices":{"requests":[)" + request("r", "net", R"(,"allocationMode":"All")") + "]}}",
      R"({"devices":{"requests":[)" + request("g", "gpu") + "," +
          request("n", "nic", R"(,"capacity":{"requests":{"bandwidth":"4Gi"}})") + "]}}",
      R"({"devices":{"requests":[)" + request("r", "gpu", R"(,"tolerations":[{"key":"broken","operator":"Exists"}])") +
          "]}}",
  };
  return k_all;
}

class Script {
 public:
  explicit Script(std::uint32_t seed) : random_(seed) {
    for (const char* name : {"gpu", "part", "nic", "net"})
      put(object(
          "DeviceClass", name,
          fmt::format(R"({{"selectors":[{{"cel":{{"expression":"device.driver == '{}.example.com'"}}}}]{}}})", name,
                      std::string_view(name) == "gpu" ? R"(,"extendedResourceName":"example.com/gpu")" : "")));
    for (std::size_t i = 0; i < claim_specs().size(); ++i)
      put(object("ResourceClaimTemplate", fmt::format("t{}", i), fmt::format(R"({{"spec":{}}})", claim_specs()[i]),
                 true));
    nodes_ = 2 + draw(4);
    for (int i = 0; i < nodes_; ++i) add_node(i);
    put(object(
        "ResourceSlice", "net",
        R"({"driver":"net.example.com","pool":{"name":"net","generation":1,"resourceSliceCount":1},"allNodes":true,)"
        R"("devices":[{"name":"x0"},{"name":"x1"}]})"));
    for (int i = 0; i < 3; ++i) add_claim();
    for (int i = 0; i < k_steps; ++i) step();
    events.push_back({Event::Kind::advance, "", 700'000});
  }
  std::vector<Event> events;
  int gpus() const { return gpus_; }

 private:
  int draw(int below) { return static_cast<int>(random_() % static_cast<std::uint32_t>(below)); }
  bool chance(int percent) { return draw(100) < percent; }
  void put(std::string text) { events.push_back({Event::Kind::put, std::move(text)}); }

  void add_node(int i) {
    put(fmt::format(
        R"({{"apiVersion":"v1","kind":"Node","metadata":{{"name":"n{}"}},"status":{{"allocatable":{{"cpu":"64",)"
        R"("memory":"64Gi","pods":"110"{}}}}}}})",
        i, chance(20) ? R"(,"example.com/gpu":"1")" : ""));
    models_.emplace_back();
    for (int d = 2 + draw(4); d > 0; --d) models_.back() += chance(50) ? 'L' : 'S';
    gpus_ += static_cast<int>(models_.back().size());
    put_gpus(i, -1);
    const std::string parts = fmt::format(
        R"("driver":"part.example.com","pool":{{"name":"parts-n{}","generation":1,"resourceSliceCount":2}},"nodeName":"n{}")",
        i, i);
    put(object("ResourceSlice", fmt::format("card-n{}", i),
               fmt::format(R"({{{},"sharedCounters":[{{"name":"card","counters":{{"slots":{{"value":"{}"}}}}}}]}})",
                           parts, k_card_slots)));
    std::string devices;
    for (int d = 0; d < 4; ++d)
      devices += fmt::format(
          R"({}{{"name":"p{}","consumesCounters":[{{"counterSet":"card","counters":{{"slots":{{"value":"{}"}}}}}}]}})",
          d == 0 ? "" : ",", d, part_slots(d));
    put(object("ResourceSlice", fmt::format("parts-n{}", i), fmt::format(R"({{{},"devices":[{}]}})", parts, devices)));
    put(object("ResourceSlice", fmt::format("nics-n{}", i),
               fmt::format(
                   R"({{"driver":"nic.example.com","pool":{{"name":"nics-n{}","generation":1,"resourceSliceCount":1}},)"
                   R"("nodeName":"n{}","devices":[{{"name":"nic","allowMultipleAllocations":true,"capacity":)"
                   R"({{"bandwidth":{{"value":"{}Gi"}}}}}}]}})",
                   i, i, k_nic_gib)));
  }
  /// `tainted`: a device, or -1.
  void put_gpus(int i, int tainted) {
    std::string devices;
    const std::string& models = models_[static_cast<std::size_t>(i)];
    for (std::size_t d = 0; d < models.size(); ++d)
      devices += fmt::format(
          R"({}{{"name":"g{}","attributes":{{"group":{{"int":{}}},"model":{{"string":"{}"}}}}{}}})", d == 0 ? "" : ",",
          d, d / 2, models[d],
          static_cast<int>(d) == tainted ? R"(,"taints":[{"key":"broken","value":"yes","effect":"NoSchedule"}])" : "");
    put(object(
        "ResourceSlice", fmt::format("gpus-n{}", i),
        fmt::format(R"({{"driver":"gpu.example.com","pool":{{"name":"n{}","generation":1,"resourceSliceCount":1}},)"
                    R"("nodeName":"n{}","devices":[{}]}})",
                    i, i, devices)));
  }

 public:
  static int part_slots(int d) { return d == 0 ? 3 : 1; }

 private:
  void add_claim() {
    const std::string name = fmt::format("c{}", next_claim_++);
    claims_.push_back(name);
    put(object("ResourceClaim", name,
               claim_specs()[static_cast<std::size_t>(draw(static_cast<int>(claim_specs().size())))], true));
  }
  void add_pods() {
    std::string claims, resources = R"("cpu":"100m")";
    const int kind = draw(10);
    if (kind < 6) {
      const int count = kind == 0 ? 2 : 1;
      for (int i = 0; i < count; ++i)
        claims += fmt::format(R"({}{{"name":"k{}","resourceClaimTemplateName":"t{}"}})", i == 0 ? "" : ",", i,
                              draw(static_cast<int>(claim_specs().size())));
    } else if (kind < 8 && !claims_.empty()) {
      claims = fmt::format(R"({{"name":"k","resourceClaimName":"{}"}})",
                           claims_[static_cast<std::size_t>(draw(static_cast<int>(claims_.size())))]);
    } else {
      resources += fmt::format(R"(,"example.com/gpu":"{}")", 1 + draw(2));
    }
    for (int i = 1 + draw(4); i > 0; --i) {
      const std::string name = fmt::format("p{}", next_pod_++);
      pods_.push_back(name);
      put(pod(name, claims, resources));
    }
  }
  std::string take(std::vector<std::string>& names) {
    const auto index = static_cast<std::size_t>(draw(static_cast<int>(names.size())));
    std::string name = std::move(names[index]);
    names.erase(names.begin() + static_cast<std::ptrdiff_t>(index));
    return name;
  }
  void step() {
    const int what = draw(100);
    if (what < 40) return add_pods();
    if (what < 55 && !pods_.empty()) return events.push_back({Event::Kind::remove_pod, take(pods_)});
    if (what < 60) return add_claim();
    if (what < 66) return put_gpus(draw(nodes_), chance(50) ? draw(2) : -1);
    if (what < 74) return events.push_back({Event::Kind::fail_write, ""});
    if (what < 80) return events.push_back({Event::Kind::conflict, ""});
    if (what < 86) return events.push_back({Event::Kind::fail_bind, ""});
    events.push_back({Event::Kind::advance, "", 100 + draw(20'000)});
  }

 public:
  static std::string pod(const std::string& name, const std::string& claims, const std::string& resources) {
    return fmt::format(
        R"({{"apiVersion":"v1","kind":"Pod","metadata":{{"name":"{}","namespace":"default","uid":"uid-{}"}},"spec":{{"schedulerName":)"
        R"("default-scheduler","resourceClaims":[{}],"containers":[{{"name":"c","image":"i","resources":{{"requests":{{{}}},"limits":{{{}}}}}}}]}}}})",
        name, name, claims, resources, resources);
  }

 private:
  std::mt19937 random_;
  int nodes_ = 0, gpus_ = 0, next_claim_ = 0, next_pod_ = 0;
  std::vector<std::string> models_, pods_, claims_;
};

class Player {
 public:
  Player(const config::Configuration& given, const app::PluginLibrary& plugins, VerdictReuse reuse)
      : configuration_(given) {
    configuration_.plugins.verdict_reuse = reuse;
    app::Simulation::Options options;
    options.start_wall_ns = 1'000'000'000'000;
    options.refuse = failures_.refuse();
    simulation_ = app::Simulation::make(symbols_, configuration_, plugins, options).value();
  }

  void play(const Script& script) {
    for (const Event& event : script.events) {
      happen(event);
      simulation_->run_until_idle(watcher_);
      ASSERT_NO_FATAL_FAILURE(expect_nothing_is_given_twice());
    }
    ASSERT_NO_FATAL_FAILURE(expect_pods_have_their_claims());
    for (const model::ObjectPtr& claim : simulation_->cluster().objects_of(k_claims)) log_ += claim->json + '\n';
    ASSERT_NO_FATAL_FAILURE(expect_everything_is_free_again(script.gpus()));
  }
  const std::string& log() const { return log_; }
  const cycle::ReuseCounts& reuse() { return simulation_->scheduler().decision_parts().cycle.reuse_counts(); }
  int allocations = 0, failed_writes = 0, released = 0;

 private:
  void happen(const Event& event) {
    cluster::EmbeddedCluster& cluster = simulation_->cluster();
    const auto fail = [&](RecordedWrite::Kind kind, ErrorCode code) { failures_.next(kind, {"refused", code}); };
    switch (event.kind) {
      case Event::Kind::put:
        return put(event.text);
      case Event::Kind::remove_pod:
        cluster.remove_pod("default", event.text);
        return;
      case Event::Kind::remove_claim:
        cluster.remove_object(k_claims, "default", event.text);
        return;
      case Event::Kind::fail_write:
        return fail(RecordedWrite::Kind::write_object, ErrorCode::internal_error);
      case Event::Kind::conflict:
        return fail(RecordedWrite::Kind::write_object, ErrorCode::conflict);
      case Event::Kind::fail_bind:
        return fail(RecordedWrite::Kind::bind, ErrorCode::internal_error);
      case Event::Kind::advance:
        simulation_->advance(std::chrono::milliseconds(event.duration_ms), watcher_);
    }
  }
  void put(const std::string& manifest) {
    decode::DecodeOptions options = app::decode_options(configuration_, simulation_->scheduler().views().framework);
    options.watched = watched_by(*simulation_).watched;
    options.watched.emplace_back("resource.k8s.io/v1/resourceclaimtemplates");
    options.defaulting = std::make_shared<decode::Defaulting>(simulation_->clock().wall_ns());
    put_json(*simulation_, symbols_, options, manifest);
  }

  static std::string text_at(const text::Value& value, std::string_view path) {
    const text::Value* found = value.find_path(path);
    return found == nullptr ? std::string() : std::string(found->text());
  }
  template <class Use>
  void each_claim(Use&& use) {
    for (const model::ObjectPtr& claim : simulation_->cluster().objects_of(k_claims)) {
      text::Diagnostics problems;
      const auto documents = text::parse_json(claim->json, claim->name, problems);
      ASSERT_TRUE(problems.empty()) << problems.render();
      use(*claim, documents.at(0).root());
    }
  }

  /// Counted from the claims alone.
  void expect_nothing_is_given_twice() {
    std::set<std::string> whole;
    std::map<std::string, std::int64_t> slots, bandwidth;
    each_claim([&](const model::Object& claim, const text::Value& root) {
      const text::Value* results = root.find_path("status.allocation.devices.results");
      if (results == nullptr) return;
      for (const text::Value& result : results->elements()) {
        if (text_at(result, "adminAccess") == "true") continue;
        const std::string pool = text_at(result, "pool"), device = text_at(result, "device");
        if (const std::string shared = text_at(result, "consumedCapacity.bandwidth"); !shared.empty()) {
          const auto amount = model::Quantity::parse(shared);
          ASSERT_TRUE(amount.ok()) << shared;
          bandwidth[pool] += amount.value().value();
          ASSERT_LE(bandwidth[pool], std::int64_t{k_nic_gib} << 30) << claim.name;
          continue;
        }
        ASSERT_TRUE(whole.insert(text_at(result, "driver") + '/' + pool + '/' + device).second)
            << device << " of " << pool << " is given twice, also to " << claim.name;
        if (!pool.starts_with("parts-")) continue;
        slots[pool] += Script::part_slots(device[1] - '0');
        ASSERT_LE(slots[pool], k_card_slots) << claim.name;
      }
    });
  }

  /// Of uids; of claims whose release was refused too many are possible, as upstream.
  void expect_pods_have_their_claims() {
    std::set<std::string> bound, unreleased;
    for (const model::PodPtr& pod : simulation_->cluster().pods())
      if (pod->node_name != k_no_symbol) bound.insert(std::string(pod->uid.text()));
    for (const RecordedWrite& write : simulation_->cluster().writes()) {
      if (write.kind != RecordedWrite::Kind::write_object) continue;
      const bool releases = write.patch.find("\"$patch\"") != std::string::npos;
      if (!write.outcome.ok()) ++failed_writes;
      if (!releases) continue;
      ++released;
      if (!write.outcome.ok()) unreleased.insert(write.object.name);
    }
    std::map<std::string, std::set<std::string>> reserved;  // uids by claim
    each_claim([&](const model::Object& claim, const text::Value& root) {
      const bool is_allocated = root.find_path("status.allocation") != nullptr;
      allocations += is_allocated;
      if (const text::Value* consumers = root.find_path("status.reservedFor"))
        for (const text::Value& each : consumers->elements()) {
          const std::string uid = text_at(each, "uid");
          EXPECT_TRUE(is_allocated) << claim.name << " is reserved and not allocated";
          EXPECT_TRUE(bound.contains(uid) || unreleased.contains(claim.name))
              << claim.name << " is reserved for " << uid << ", which is not bound\n"
              << claim.json;
          reserved[claim.name].insert(uid);
        }
    });
    for (const model::PodPtr& pod : simulation_->cluster().pods()) {
      if (pod->node_name == k_no_symbol) continue;
      for (const model::PodClaim& entry : pod->spec->resource_claims) {
        std::string name = entry.claim;
        for (const auto& each : pod->claim_statuses->generated)
          if (name.empty() && each.name == entry.name) name = each.claim;
        EXPECT_TRUE(reserved[name].contains(std::string(pod->uid.text()))) << pod->name << " runs without " << name;
      }
    }
  }

  /// When all pods and claims are gone, each GPU can be had: nothing is kept of attempts that failed.
  void expect_everything_is_free_again(int gpus) {
    cluster::EmbeddedCluster& cluster = simulation_->cluster();
    for (const model::PodPtr& pod : cluster.pods()) cluster.remove_pod(pod->ns, pod->name);
    for (const model::ObjectPtr& claim : cluster.objects_of(k_claims))
      cluster.remove_object(k_claims, claim->ns, claim->name);
    simulation_->run_until_idle(watcher_);
    simulation_->advance(std::chrono::minutes(20), watcher_);
    for (int i = 0; i < gpus; ++i)
      put(Script::pod(fmt::format("last-{}", i), R"({"name":"k","resourceClaimTemplateName":"t9"})",
                      R"("cpu":"100m")"));
    simulation_->run_until_idle(watcher_);
    simulation_->advance(std::chrono::minutes(20), watcher_);  // failures that were asked for and not met so far
    int bound = 0;
    for (const model::PodPtr& pod : cluster.pods()) bound += pod->node_name != k_no_symbol;
    EXPECT_EQ(bound, gpus) << log_.substr(log_.size() - std::min<std::size_t>(log_.size(), 2000));
  }

  SymbolTable symbols_;
  config::Configuration configuration_;
  tests::PlannedFailures failures_;  // outlives the simulation
  std::unique_ptr<app::Simulation> simulation_;
  std::string log_;
  const app::Simulation::Watcher watcher_ = [this](report::Decision decision) {
    log_ += fmt::format("{} {} {} {}\n", simulation_->clock().wall_ns(), decision.pod->key(), decision.node,
                        decision.message);
  };
};

TEST(RandomClaims, GiveNoDeviceTwiceAndLeaveNothingBehind) {
  text::Diagnostics problems;
  const config::RawConfiguration raw = config::load_defaults();
  const app::PluginLibrary plugins = app::load_plugins(raw, BERTH_BINARY_DIR "/plugins");
  ASSERT_TRUE(plugins.ok()) << plugins.report.render();
  const config::Configuration configuration =
      config::resolve(raw, plugins.catalog(), config::AbsentPlugins::embedded(), problems);
  ASSERT_TRUE(problems.empty()) << problems.render();
  int allocations = 0, failed_writes = 0, released = 0;
  for (const std::uint32_t seed : tests::seeds()) {
    SCOPED_TRACE(fmt::format("BERTH_SEED={}", seed));
    const Script script(seed);
    Player on(configuration, plugins, VerdictReuse::on), off(configuration, plugins, VerdictReuse::off),
        verify(configuration, plugins, VerdictReuse::verify);
    for (Player* run : {&on, &off, &verify}) ASSERT_NO_FATAL_FAILURE(run->play(script));
    EXPECT_EQ(verify.reuse().violations, 0u);
    EXPECT_EQ(on.log(), off.log());
    EXPECT_EQ(on.log(), verify.log());
    allocations += on.allocations;
    failed_writes += on.failed_writes;
    released += on.released;
    if (HasFailure()) return;
  }
  std::printf("%d allocations, %d failed writes, %d releases\n", allocations, failed_writes, released);
  if (tests::are_few_seeds()) return;
  EXPECT_GT(allocations, 0);
  EXPECT_GT(failed_writes, 0);
  EXPECT_GT(released, 0) << "no attempt failed after it had reserved something";
}

}  // namespace
}  // namespace berth::cases::claim_properties
