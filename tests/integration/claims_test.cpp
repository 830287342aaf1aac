// SPDX-License-Identifier: Apache-2.0
// `berth run` with device claims against an API server that refuses, loses answers and outlives its leaders: every claim ends
// allocated and reserved for the pods that run, or not at all.
#include <set>

#include "integration/run_fixture.hpp"

namespace berth::tests {
namespace {

constexpr int k_nodes = 5;
constexpr int k_devices = 4;  // of each node

class Claims : public RunTest {
 protected:
  Claims() {
    server.create(
        R"({"apiVersion":"resource.k8s.io/v1","kind":"DeviceClass","metadata":{"name":"gpu"},"spec":{)"
        R"("extendedResourceName":"example.com/gpu","selectors":[{"cel":{"expression":"device.driver == 'd'"}}]}})");
    for (int i = 0; i < k_nodes; ++i) {
      server.create(node_json(i, 64));
      std::string devices;
      for (int d = 0; d < k_devices; ++d)
        devices += (d == 0 ? "" : ",") + (R"({"name":"g)" + std::to_string(d)) + "\"}";
      const std::string name = "n" + std::to_string(i);
      server.create(R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceSlice","metadata":{"name":"s-)" + name +
                    R"("},"spec":{"driver":"d","pool":{"name":")" + name +
                    R"(","generation":1,"resourceSliceCount":1},"nodeName":")" + name + R"(","devices":[)" + devices +
                    "]}}");
    }
  }
  void create_claim(const std::string& name) {
    server.create(
        R"({"apiVersion":"resource.k8s.io/v1","kind":"ResourceClaim","metadata":{"name":")" + name +
        R"(","namespace":"default"},"spec":{"devices":{"requests":[{"name":"r","exactly":{"deviceClassName":"gpu",)"
        R"("allocationMode":"ExactCount","count":1}}]}}})");
  }
  void create_pod(const std::string& name, const std::string& claim) {
    server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"(","namespace":"default"},"spec":{"resourceClaims":[{"name":"k","resourceClaimName":")" + claim +
                  R"("}],"containers":[{"name":"c","image":"i","resources":{"claims":[{"name":"k"}]}}]}})");
  }
  void create_extended_pod(const std::string& name) {
    server.create(R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":")" + name +
                  R"(","namespace":"default"},"spec":{"containers":[{"name":"c","image":"i","resources":{"requests":)"
                  R"({"example.com/gpu":"1"},"limits":{"example.com/gpu":"1"}}}]}})");
  }
  std::vector<json::value> all(const char* group, const char* plural) {
    std::vector<json::value> out;
    for (const StoredPtr& each : server.store().list(*server.store().find(group, "v1", plural), "", "", 0).objects)
      out.push_back(json::parse(each->text));
    return out;
  }
  std::vector<json::value> claims() { return all("resource.k8s.io", "resourceclaims"); }
  static const json::array& list_at(const json::value& value, std::string_view pointer) {
    static const json::array k_none;
    boost::system::error_code missing;
    const json::value* found = value.find_pointer(pointer, missing);
    return found != nullptr && found->is_array() ? found->get_array() : k_none;
  }
  static bool is_allocated(const json::value& claim) {
    boost::system::error_code missing;
    return claim.find_pointer("/status/allocation", missing) != nullptr;
  }
  /// Some claim is allocated, and the pod that it is reserved for is not bound.
  bool is_between() {
    std::set<std::string> unbound;
    for (const json::value& pod : all("", "pods"))
      if (text_at(pod, "/spec/nodeName").empty()) unbound.insert(text_at(pod, "/metadata/uid"));
    for (const json::value& claim : claims())
      for (const json::value& consumer : list_at(claim, "/status/reservedFor"))
        if (unbound.contains(text_at(consumer, "/uid"))) return true;
    return false;
  }

  /// Claims that were made and whose maker does not know it. As upstream, the pod makes another one when it is tried before the
  /// watch tells of the first, which then stays, unallocated, until the pod goes.
  std::ptrdiff_t unknown_creates() {
    const std::vector<SeenWrite> writes = server.writes();
    return std::count_if(writes.begin(), writes.end(), [](const SeenWrite& each) {
      return each.is_answer_lost && each.method == "POST" && each.status == 201 &&
             each.target.find("/resourceclaims") != std::string::npos;
    });
  }
  /// The problem that is there, or an empty text.
  std::string what_is_wrong() {
    std::map<std::string, std::string> node_of, name_of, extended_claim;  // by uid; node_of: of bound pods
    for (const json::value& pod : all("", "pods")) {
      const std::string uid = text_at(pod, "/metadata/uid");
      name_of[uid] = text_at(pod, "/metadata/name");
      extended_claim[uid] = text_at(pod, "/status/extendedResourceClaimStatus/resourceClaimName");
      if (const std::string node = text_at(pod, "/spec/nodeName"); !node.empty()) node_of[uid] = node;
    }
    std::set<std::string> devices, served;
    std::ptrdiff_t unknown = unknown_creates();
    for (const json::value& claim : claims()) {
      const std::string name = text_at(claim, "/metadata/name");
      for (const json::value& result : list_at(claim, "/status/allocation/devices/results"))
        if (!devices.insert(text_at(result, "/pool") + '/' + text_at(result, "/device")).second)
          return name + " has a device that another claim has: " + json::serialize(result);
      const json::array& consumers = list_at(claim, "/status/reservedFor");
      if (is_allocated(claim) != !consumers.empty())
        return name + " is allocated and not reserved: " + json::serialize(claim);
      if (is_allocated(claim) && list_at(claim, "/metadata/finalizers").empty()) return name + " has no finalizer";
      for (const json::value& consumer : consumers) {
        const std::string uid = text_at(consumer, "/uid");
        if (!node_of.contains(uid)) return name + " is reserved for " + name_of[uid] + ", which is not bound";
        served.insert(uid);
        if (const json::array& of = list_at(claim, "/metadata/ownerReferences");
            !of.empty() && extended_claim[uid] != name)
          return name + " is reserved for " + name_of[uid] + ", whose status names '" + extended_claim[uid] + '\'';
        for (const json::value& result : list_at(claim, "/status/allocation/devices/results"))
          if (text_at(result, "/pool") != node_of[uid]) return name + " has a device of another node than its pod";
      }
      const json::array& owners = list_at(claim, "/metadata/ownerReferences");
      if (!owners.empty() && consumers.empty() && --unknown < 0) return name + " is left over";
    }
    for (const auto& [uid, node] : node_of)
      if (!served.contains(uid)) return name_of[uid] + " runs without its claim";
    return {};
  }
  /// A claim that was made for an extended resource and left over is deleted by the pod's next attempt; the one after that waits for
  /// an event, as upstream's.
  void change_a_label() {
    json::object labels, metadata, patch;
    labels["tick"] = std::to_string(++ticks_);
    metadata["labels"] = std::move(labels);
    patch["metadata"] = std::move(metadata);
    server.store().patch(*server.store().find("", "v1", "nodes"), "", "n0", patch, false, false);
  }
  void expect_all_is_well(std::size_t pods, ChildProcess& berth) {
    using Clock = std::chrono::steady_clock;
    std::uint64_t seen = 0;
    for (const auto end = Clock::now() + k_patience; bound() < pods && Clock::now() < end; change_a_label())
      for (const auto tick = Clock::now() + std::chrono::seconds(1); bound() < pods && Clock::now() < tick;)
        seen = server.await_change(seen, std::chrono::milliseconds(200));
    ASSERT_TRUE(wait([&] { return bound() == pods; })) << bound() << " of " << pods << " bound\n" << berth.log();
    EXPECT_TRUE(wait([&] { return what_is_wrong().empty(); })) << what_is_wrong() << '\n' << berth.log();
    std::set<std::string> once;
    for (const BindRecord& record : server.store().bindings())
      EXPECT_TRUE(once.insert(record.uid).second) << record.name << " was bound twice";
  }
  static std::vector<std::string> election() {
    return {"--leader-elect=true", "--leader-elect-lease-duration=3000ms", "--leader-elect-renew-deadline=2000ms",
            "--leader-elect-retry-period=500ms"};
  }

  std::string holder() { return text_at(lease(), "/spec/holderIdentity"); }
  /// Whether that process has the lease: its log says that it got it under the holder's name.
  bool leads(const ChildProcess& berth) {
    const std::string name = holder();
    std::istringstream log(berth.log());
    for (std::string line; !name.empty() && std::getline(log, line);)
      if (line.find("Successfully acquired lease") != line.npos && line.find(name) != line.npos) return true;
    return false;
  }

 private:
  int ticks_ = 0;
};

TEST_F(Claims, AreWrittenAsAServerWantsThem) {
  for (int i = 0; i < 3; ++i) create_claim("c" + std::to_string(i));
  create_pod("one", "c0");
  create_pod("first-of-two", "c1");
  create_pod("second-of-two", "c1");
  create_extended_pod("extended");
  auto berth = start({"--leader-elect=false"});
  expect_all_is_well(4, *berth);
  std::size_t of_two = 0;
  bool is_there = false;
  for (const json::value& claim : claims()) {
    if (text_at(claim, "/metadata/name") == "c1") of_two = list_at(claim, "/status/reservedFor").size();
    is_there =
        is_there || text_at(claim, "/metadata/annotations/resource.kubernetes.io~1extended-resource-claim") == "true";
    if (text_at(claim, "/metadata/name") == "c2") {
      EXPECT_FALSE(is_allocated(claim));
    }
  }
  EXPECT_EQ(of_two, 2u);
  EXPECT_TRUE(is_there);
  EXPECT_NE(text_at(stored("extended"), "/status/extendedResourceClaimStatus/resourceClaimName"), "");
}

TEST_F(Claims, AreShownToThoseWhoMayAsk) {
  create_claim("c0");
  create_pod("one", "c0");
  for (int i = 0; i < k_nodes * k_devices; ++i) {
    create_claim("more" + std::to_string(i));
    create_pod("more" + std::to_string(i), "more" + std::to_string(i));
  }
  const std::uint16_t port = free_port();
  auto berth = start({"--leader-elect=false", "--bind-address=127.0.0.1", "--secure-port=" + std::to_string(port),
                      "--authentication-kubeconfig=" + kubeconfig, "--authorization-kubeconfig=" + kubeconfig});
  const auto page = [&] {
    const auto [status, body] = fetch(port, "/debug/devices", "test-token");
    return status == 200 ? json::parse(body) : json::value();
  };
  ASSERT_TRUE(wait([&] { return bound() == k_nodes * k_devices; })) << berth->log();
  ASSERT_TRUE(wait([&] {
    const json::value now = page();
    return now.is_object() && list_at(now, "/inFlight").empty();
  })) << json::serialize(page());
  EXPECT_EQ(fetch(port, "/debug/devices", "").first, 403);
  EXPECT_EQ(fetch(port, "/debug/devices", "wrong").first, 401);
  const json::value now = page();
  EXPECT_EQ(json::serialize(now.at_pointer("/drivers/d")),
            R"({"devices":20,"free":0,"allocated":20,"inFlight":0,"tainted":0})");
  EXPECT_EQ(list_at(now, "/claims").size(), 21u);
  EXPECT_EQ(list_at(now, "/slices").size(), static_cast<std::size_t>(k_nodes));
  // Which pod found no device is a race.
  std::string waiting;
  for (const json::value& pod : all("", "pods"))
    if (text_at(pod, "/spec/nodeName").empty()) waiting = text_at(pod, "/metadata/name");
  const std::string why = fetch(port, "/debug/pods/default/" + waiting, "test-token").second;
  EXPECT_NE(why.find(", request r: in use\":20"), std::string::npos) << why;
}

TEST_F(Claims, EndAllocatedOnceWhateverTheServerRefusesOrLoses) {
  Faults faults = bad_days();
  faults.conflict = faults.lost_answer = 0.1;
  server.inject(faults);
  auto berth = start({"--leader-elect=false"});
  for (int i = 0; i < 12; ++i) {
    const std::string number = std::to_string(i);
    create_claim("c" + number);
    create_pod("p" + number, "c" + number);
    if (i % 3 == 0) create_pod("q" + number, "c" + number);
    if (i % 2 == 0) create_extended_pod("e" + number);
  }
  expect_all_is_well(12 + 4 + 6, *berth);
}

TEST_F(Claims, OutliveALeaderThatIsKilledBetweenAllocationAndBinding) {
  auto first = start(election(), "first");
  ASSERT_TRUE(wait([&] { return !text_at(lease(), "/spec/holderIdentity").empty(); })) << first->log();
  auto second = start(election(), "second");
  ASSERT_TRUE(wait([&] { return second->log().find("Caches are synced") != std::string::npos; })) << second->log();
  Faults slow;
  slow.slow = 1;
  slow.slow_max = std::chrono::milliseconds(400);
  slow.seed = seed_of_this_run();
  server.inject(slow);
  for (int i = 0; i < 10; ++i) {
    const std::string number = std::to_string(i);
    create_claim("c" + number);
    create_pod("p" + number, "c" + number);
    if (i < 4) create_extended_pod("e" + number);
  }
  ASSERT_TRUE(wait([&] { return is_between(); })) << first->log();
  first->signal(SIGKILL);
  first->wait(std::chrono::milliseconds(k_patience));
  EXPECT_TRUE(is_between()) << "the leader had bound everything";
  server.inject(Faults());
  expect_all_is_well(14, *second);
}

TEST_F(Claims, AreTakenOverAgainAndAgain) {
  server.inject(bad_days());
  std::unique_ptr<ChildProcess> replicas[] = {start(election(), "first"), start(election(), "second")};
  std::set<std::string> leaders;
  int pods = 0;
  for (std::size_t round = 0; round < 3; ++round) {
    for (int i = 0; i < 6; ++i, ++pods) {
      const std::string number = std::to_string(pods);
      create_claim("c" + number);
      create_pod("p" + number, "c" + number);
    }
    ASSERT_TRUE(wait([&] { return bound() > static_cast<std::size_t>(pods) - 5; }))
        << replicas[0]->log() << replicas[1]->log();
    std::unique_ptr<ChildProcess>* leader = nullptr;
    ASSERT_TRUE(wait([&] {
      for (auto& each : replicas)
        if (leads(*each)) leader = &each;
      return leader != nullptr;
    }));
    leaders.insert(holder());
    (*leader)->signal(SIGKILL);
    (*leader)->wait(std::chrono::milliseconds(k_patience));
    *leader = start(election(), "again" + std::to_string(round));
  }
  expect_all_is_well(static_cast<std::size_t>(pods), *replicas[0]);
  leaders.insert(holder());
  EXPECT_EQ(leaders.size(), 4u) << "each leader was killed, and another one took over";
}

}  // namespace
}  // namespace berth::tests
