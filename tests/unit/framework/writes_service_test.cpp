// SPDX-License-Identifier: Apache-2.0
#include <map>

#include "unit/framework/framework_fixture.hpp"

namespace berth::framework::testing {
namespace {

/// What each write of "berth.writes/1" tells the plugin when the cluster refuses it with that code.
std::map<std::string, berth_code> answers_to(ErrorCode code) {
  FrameworkFixture f;
  f.ports.refusal.code = code;
  FakePlugin& plugin = f.make_plugin("example.com/Writer");
  f.add(plugin);
  const auto& writes = *static_cast<const berth_writes_v1*>(plugin.host->service(plugin.host->ctx, "berth.writes/1"));
  void* const ctx = plugin.host->ctx;
  std::map<std::string, berth_code> answers;
  const auto done = [&](const char* write) -> void* { return &answers[write]; };
  const berth_write_done_v1 keep = [](void* arg, berth_code answer, berth_str) {
    *static_cast<berth_code*>(arg) = answer;
  };
  const berth_str ns = key("default"), name = key("p"), uid = key("uid-p"), patch = key("{}");
  writes.bind(ctx, ns, name, uid, key("n1"), keep, done("bind"));
  writes.patch_pod_status(ctx, ns, name, uid, patch, keep, done("status"));
  writes.patch_pod_metadata(ctx, ns, name, uid, patch, keep, done("metadata"));
  writes.evict(ctx, ns, name, uid, key("because"), keep, done("evict"));
  writes.patch_object(ctx, key("core/v1/persistentvolumes"), key(""), name, patch, keep, done("object"));
  return answers;
}

std::map<std::string, berth_code> each(berth_code code) {
  return {{"bind", code}, {"status", code}, {"metadata", code}, {"evict", code}, {"object", code}};
}

TEST(WritesService, TellsThatTheObjectIsGone) { EXPECT_EQ(answers_to(ErrorCode::not_found), each(BERTH_NOT_FOUND)); }

TEST(WritesService, TellsThatAnotherVersionIsThere) {
  EXPECT_EQ(answers_to(ErrorCode::conflict), each(BERTH_CONFLICT));
}

TEST(WritesService, APatchThatIsNoneIsNotTaken) {
  FrameworkFixture f;
  f.ports.bad_patch = "the patch is no object";
  FakePlugin& plugin = f.make_plugin("example.com/Writer");
  f.add(plugin);
  const auto& writes = plugin.service<berth_writes_v1>("berth.writes/1");
  void* const ctx = plugin.host->ctx;
  bool answered = false;
  const berth_write_done_v1 done = [](void* arg, berth_code, berth_str) { *static_cast<bool*>(arg) = true; };
  const berth_str ns = key("default"), name = key("p"), uid = key("uid-p"), patch = key("[]");
  EXPECT_EQ(writes.patch_pod_status(ctx, ns, name, uid, patch, done, &answered),
            static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_EQ(writes.patch_pod_metadata(ctx, ns, name, uid, patch, done, &answered),
            static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_EQ(writes.patch_object(ctx, key("core/v1/persistentvolumes"), key(""), name, patch, done, &answered),
            static_cast<berth_code>(BERTH_BAD_ARGS));
  EXPECT_FALSE(answered);
}

TEST(WritesService, EveryOtherRefusalIsAnError) {
  EXPECT_EQ(answers_to(ErrorCode::forbidden), each(BERTH_ERROR));
  EXPECT_EQ(answers_to(ErrorCode::other), each(BERTH_ERROR));
}

}  // namespace
}  // namespace berth::framework::testing
