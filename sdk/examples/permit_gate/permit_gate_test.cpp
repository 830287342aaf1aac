// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/module.hpp>

namespace {
using namespace berth::testkit;

/// The pods that wait, and what was decided about them.
struct WaitingRoom {
  std::vector<std::unique_ptr<PodRecord>> pods;
  std::vector<std::string> allowed;
  std::map<std::string, std::string> rejected;
};
WaitingRoom room;
void (*look)(void*) = nullptr;
void* look_arg = nullptr;
bool refuses = false;  // the host takes no task

/// FakeCluster has objects; a waiting room and a period are ours.
void install(FakeHost& host) {
  static const berth_waiting_v1 waiting{
      sizeof waiting, 0,
      [](void*, berth_str uid) -> berth_code { return room.allowed.push_back(text_of(uid)), BERTH_OK; },
      [](void*, berth_str uid, berth_str why) -> berth_code {
        return room.rejected[text_of(uid)] = text_of(why), BERTH_OK;
      },
      [](void*, berth_id, std::uint32_t (*visit)(void*, const berth_pod_v1*, berth_str), void* arg) {
        for (const auto& pod : room.pods) visit(arg, pod->raw(), str("n"));
      }};
  static const berth_executor_v1 executor{
      sizeof executor,
      0,
      nullptr,
      nullptr,
      [](void*, std::uint32_t, std::uint32_t, void (*task)(void*), void* arg, std::uint64_t*) -> berth_code {
        if (refuses) return BERTH_ERROR;
        look = task;
        look_arg = arg;
        return BERTH_OK;
      },
      nullptr};
  room = {};
  FakeCluster::install(host);
  host.extra_services["berth.waiting/1"] = &waiting;
  host.extra_services["berth.executor/1"] = &executor;
}

const PodSpec k_pod{.name = "p", .ns = "shop"};
constexpr const char* k_wait = R"({"example.com/gate":"wait"})";
constexpr const char* k_approve = R"({"example.com/gate":"approve"})";
constexpr const char* k_deny = R"({"example.com/gate":"deny"})";
constexpr const char* k_closed = "the gate of namespace shop is closed";

class PermitGate : public testing::Test {
 protected:
  void gate(const char* annotations) { FakeCluster::of(policy).put("core/v1/namespaces", "", "shop", {annotations}); }
  Outcome permit() {
    Attempt attempt(policy, k_pod, {{.name = "n"}});
    NoteRecord note;
    return policy.outcome(
        policy.ops<berth_permit_ops_v1>("berth.permit/1")->permit(policy.self(), attempt.cycle(), 0, &out, note.raw()),
        note);
  }
  bool wakes(const char* before, const char* now, const char* ns = "shop") {
    return policy.wakes({.kind = BERTH_KIND_OWN_WATCH,
                         .actions = BERTH_ACTION_UPDATE,
                         .old_object = ObjectSpec{"", ns, {before}},
                         .new_object = ObjectSpec{"", ns, {now}}},
                        k_pod);
  }
  void look_again() { look(look_arg); }

  Policy policy{tested_library(), R"({"timeoutSeconds": 7})", &install};
  berth_permit_out_v1 out{sizeof(berth_permit_out_v1), 0};
};

TEST_F(PermitGate, IsOpenWithoutAnAnnotationOrANamespace) {
  EXPECT_EQ(permit(), (Outcome{BERTH_OK, ""}));
  gate("");
  EXPECT_EQ(permit(), (Outcome{BERTH_OK, ""}));
  gate(R"({"example.com/gate":"ajar"})");
  EXPECT_EQ(permit(), (Outcome{BERTH_OK, ""}));
}

TEST_F(PermitGate, AnswersAsTheAnnotationSays) {
  gate(k_approve);
  EXPECT_EQ(permit(), (Outcome{BERTH_OK, ""}));
  gate(k_wait);
  EXPECT_EQ(permit(), (Outcome{BERTH_WAIT, ""}));
  EXPECT_EQ(out.timeout_ms, 7000u);
  gate(k_deny);
  EXPECT_EQ(permit(), (Outcome{BERTH_UNSCHEDULABLE, k_closed}));
}

TEST_F(PermitGate, DecidesAboutWaitingPodsWhenTheAnnotationChanges) {
  room.pods.push_back(std::make_unique<PodRecord>(policy.host(), k_pod));
  gate(k_wait);
  look_again();
  EXPECT_TRUE(room.allowed.empty() && room.rejected.empty());
  gate(k_approve);
  look_again();
  EXPECT_EQ(room.allowed, std::vector<std::string>{"p-uid"});
  gate(k_deny);
  look_again();
  EXPECT_EQ(room.rejected["p-uid"], k_closed);
}

TEST_F(PermitGate, TriesDeniedPodsAgainWhenTheirNamespaceIsNotClosedAnyMore) {
  EXPECT_TRUE(wakes(k_deny, k_approve));
  EXPECT_TRUE(wakes(k_deny, k_wait));
  EXPECT_TRUE(wakes(k_wait, k_approve));
  EXPECT_FALSE(wakes(k_wait, k_deny));
  EXPECT_FALSE(wakes(k_wait, k_wait));
  EXPECT_FALSE(wakes(k_deny, k_approve, "other"));
}

TEST(PermitGateMaking, FailsWhenTheHostDoesNotLookAgain) {
  refuses = true;
  EXPECT_THROW(Policy(tested_library(), "{}", &install), CallError);
  refuses = false;
}

}  // namespace
