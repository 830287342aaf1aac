// SPDX-License-Identifier: Apache-2.0
/// What berth.objects/1 watch() answers in create(): a watch that the host would never fill is refused with a sentence.
#include <string>
#include <utility>

#include "berth/ext/objects.h"
#include "unit/framework/framework_fixture.hpp"

namespace berth::framework {
namespace {

struct ObjectWatch : ::testing::Test, testing::FrameworkFixture {
  /// Code and sentence of a watch of the resource, declared by a plugin of that file ("" for one that is linked in), whose note
  /// names core/v1/services and example.com/v1/widgets.
  std::pair<berth_code, std::string> watch(const char* resource, std::string file = "") {
    testing::FakePlugin& plugin = make_plugin("example.com/Watcher");
    berth_code code = BERTH_ERROR;
    std::string said;
    plugin.create = [&](const berth_binder_v1&, berth_note_v1*) -> berth_code {
      const auto* const table =
          static_cast<const berth_objects_v1*>(plugin.host->service(plugin.host->ctx, "berth.objects/1"));
      char text[256];
      berth_note_v1 note{};
      note.struct_size = sizeof note;
      note.text = text;
      note.text_cap = sizeof text;
      std::uint32_t id = 0;
      code = table->watch(plugin.host->ctx, testing::key(resource), nullptr, 0, &id, &note);
      said.assign(text, note.text_len);
      return BERTH_OK;
    };
    EXPECT_TRUE(create_from(plugin, std::move(file), {"core/v1/services", "example.com/v1/widgets"}).ok());
    return {code, said};
  }
};

TEST_F(ObjectWatch, IsMadeForWhatTheFilesNoteNames) {
  EXPECT_EQ(watch("core/v1/services", "a.so").first, BERTH_OK);
  EXPECT_EQ(watch("example.com/v1/widgets", "a.so").first, BERTH_OK);
  EXPECT_EQ(objects.resources(), (std::vector<std::string>{"core/v1/services", "example.com/v1/widgets"}));
}

TEST_F(ObjectWatch, IsRefusedForWhatTheFilesNoteDoesNotName) {
  const auto [code, said] = watch("apps/v1/replicasets", "a.so");
  EXPECT_EQ(code, BERTH_BAD_ARGS);
  EXPECT_NE(said.find("the file's note lacks \"watch=apps/v1/replicasets\""), std::string::npos) << said;
  EXPECT_TRUE(objects.resources().empty());
}

TEST_F(ObjectWatch, OfAPluginThatIsLinkedInNeedsNoNote) { EXPECT_EQ(watch("apps/v1/replicasets").first, BERTH_OK); }

TEST_F(ObjectWatch, IsRefusedForPodsAndNodes) {
  for (const char* resource : {"core/v1/pods", "core/v1/nodes"}) {
    const auto [code, said] = watch(resource);
    EXPECT_EQ(code, BERTH_BAD_ARGS) << resource;
    EXPECT_NE(said.find("are not watched as objects"), std::string::npos) << said;
  }
}

TEST_F(ObjectWatch, IsRefusedForWhatNamesNoResource) {
  for (const char* resource : {"", "services", "v1/services", "core/v1/", "/v1/services", "core//services",
                               "core/v1/pods/status", "core/v1/Services", "core/v1/ser vices", "core/v1/\x1b[2J"}) {
    const auto [code, said] = watch(resource);
    EXPECT_EQ(code, BERTH_BAD_ARGS) << resource;
    EXPECT_NE(said.find("is no resource such as"), std::string::npos) << said;
  }
}

}  // namespace
}  // namespace berth::framework
