// SPDX-License-Identifier: Apache-2.0
// Of other objects nothing is recorded but what policies read.
#include "recording/object_fields.hpp"

#include <gtest/gtest.h>

namespace berth::recording {
namespace {

TEST(ObjectFields, OnlyFieldsThatAreReadAreKept) {
  const std::string json =
      R"({"metadata":{"name":"a","labels":{"x":"1"}},"spec":{"replicas":3,"other":true},"data":"s"})";
  EXPECT_EQ(fields_of(json, {"spec.replicas", "metadata.labels"}),
            R"({"metadata":{"labels":{"x":"1"}},"spec":{"replicas":3}})");
  EXPECT_EQ(fields_of(json, {}), "{}");
  EXPECT_EQ(fields_of(json, {"spec", "spec.replicas"}), R"({"spec":{"replicas":3,"other":true}})");
  EXPECT_EQ(fields_of(json, {"data.x", "spec.none"}), R"({"spec":{}})");
}

TEST(ObjectFields, EnvironmentOfContainersIsLeftOut) {
  const std::string json =
      R"({"spec":{"template":{"spec":{"containers":[{"name":"c","env":[{"value":"secret"}],)"
      R"("command":["secret"],"args":["secret"],"envFrom":[{"secret":1}]}],"env":"a label of ours"}}}})";
  EXPECT_EQ(fields_of(json, {"spec.template"}),
            R"({"spec":{"template":{"spec":{"containers":[{"name":"c"}],"env":"a label of ours"}}}})");
  EXPECT_EQ(fields_of(json, {"spec.template.spec.containers"}),
            R"({"spec":{"template":{"spec":{"containers":[{"name":"c"}]}}}})");
}

TEST(ObjectFields, SecretsAreNotRecordedWhateverReadsThem) {
  EXPECT_FALSE(is_recordable("core/v1/secrets"));
  EXPECT_TRUE(is_recordable("core/v1/services"));
}

TEST(ObjectFields, JsonThatIsNoObjectHasNoFields) {
  for (const char* json : {"", "[1]", "{", "7"}) EXPECT_EQ(fields_of(json, {"spec"}), "{}") << json;
}

}  // namespace
}  // namespace berth::recording
