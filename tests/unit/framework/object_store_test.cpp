// SPDX-License-Identifier: Apache-2.0
#include "framework/services/object_store.hpp"

#include <gtest/gtest.h>

namespace berth::framework {
namespace {

model::Object object(const std::string& ns, const std::string& name, const std::string& json) {
  return {"core/v1/services", ns, name, "uid-" + name, "1", json};
}

/// Projects "<path>=<json>" for every field, so that a test sees which object and which field a value came from.
struct StoreFixture {
  std::string seen(ObjectStore::WatchId watch, const std::string& ns, const std::string& name) {
    const ProjectionPtr found = store.get(watch, ns, name);
    return found ? found->values.at(0).text : "(none)";
  }
  std::string all(const std::string& ns) {
    std::string text;
    store.each(services, ns, [&](const Projection& p) {
      text += p.ns + "/" + p.name + " ";
      return true;
    });
    return text;
  }
  ObjectStore store{[](const model::Object& o, const std::vector<Field>& fields) {
    std::vector<FieldValue> values;
    for (const Field& field : fields) values.push_back({true, 0, field.path + "=" + o.json});
    return values;
  }};
  ObjectStore::WatchId services = store.watch("core/v1/services", {{"spec.type", FieldType::text}});
};

TEST(ObjectStore, EqualWatchesAreOne) {
  StoreFixture f;
  EXPECT_EQ(f.store.watch("core/v1/services", {{"spec.type", FieldType::text}}), f.services);
  EXPECT_NE(f.store.watch("core/v1/services", {{"spec.type", FieldType::json}}), f.services);
  const auto sets = f.store.watch("apps/v1/replicasets", {});
  EXPECT_EQ(f.store.watches_of("core/v1/services").size(), 2u);
  EXPECT_EQ(f.store.resource_of(sets), "apps/v1/replicasets");
  EXPECT_EQ(f.store.resources(), (std::vector<std::string>{"apps/v1/replicasets", "core/v1/services"}));
}

TEST(ObjectStore, ShowsTheLatestVersionOfAnObject) {
  StoreFixture f;
  EXPECT_EQ(f.seen(f.services, "a", "s"), "(none)");
  f.store.apply(object("a", "s", "1"));
  EXPECT_EQ(f.seen(f.services, "a", "s"), "spec.type=1");
  const std::uint64_t first = f.store.get(f.services, "a", "s")->version;
  f.store.apply(object("a", "s", "2"));
  EXPECT_EQ(f.seen(f.services, "a", "s"), "spec.type=2");
  EXPECT_GT(f.store.get(f.services, "a", "s")->version, first);
  f.store.remove(object("a", "s", ""));
  EXPECT_EQ(f.seen(f.services, "a", "s"), "(none)");
  EXPECT_EQ(f.store.get(77, "a", "s"), nullptr);
}

TEST(ObjectStore, VisitsInOrderAndByNamespace) {
  StoreFixture f;
  for (const auto& [ns, name] : {std::pair{"b", "x"}, {"a", "z"}, {"a", "y"}, {"ab", "w"}})
    f.store.apply(object(ns, name, ""));
  EXPECT_EQ(f.all(""), "a/y a/z ab/w b/x ");
  EXPECT_EQ(f.all("a"), "a/y a/z ");
  EXPECT_EQ(f.all("none"), "");
  int visits = 0;
  f.store.each(f.services, "", [&](const Projection&) { return ++visits < 2; });
  EXPECT_EQ(visits, 2);
}

/// What changed since the last call, as "+ns/name=value", "-ns/name" and "all" for "forget everything".
std::string changes(StoreFixture& f, std::uint64_t& since) {
  std::string text;
  since = f.store.changes(f.services, since, [&](std::string_view ns, std::string_view name, const Projection* now) {
    if (name.empty()) {
      text += "all ";
    } else if (now == nullptr) {
      text += fmt::format("-{}/{} ", ns, name);
    } else {
      text += fmt::format("+{}/{}:{} ", ns, name, now->values.at(0).text);
    }
  });
  return text;
}

TEST(ObjectStore, TellsWhatChangedSinceTheLastTime) {
  StoreFixture f;
  std::uint64_t since = 0;
  EXPECT_EQ(changes(f, since), "all ");
  EXPECT_EQ(changes(f, since), "");
  f.store.apply(object("a", "x", "1"));
  f.store.apply(object("a", "y", "1"));
  f.store.apply(object("a", "x", "2"));
  EXPECT_EQ(changes(f, since), "+a/x:spec.type=2 +a/y:spec.type=1 ") << "each once, as it is now";
  f.store.remove(object("a", "y", ""));
  EXPECT_EQ(changes(f, since), "-a/y ");
  ASSERT_TRUE(
      f.store.assume(f.services, "a", "x", f.store.get(f.services, "a", "x")->version, {{true, 0, "mine"}}).ok());
  EXPECT_EQ(changes(f, since), "+a/x:mine ");
  EXPECT_EQ(f.store.actual(f.services, "a", "x")->values.at(0).text, "spec.type=2") << "whatever is assumed";
  f.store.forget(f.services, "a", "x");
  f.store.forget(f.services, "a", "x");
  EXPECT_EQ(changes(f, since), "+a/x:spec.type=2 ");
  std::uint64_t late = 0;
  EXPECT_EQ(changes(f, late), "all +a/x:spec.type=2 ");
}

TEST(ObjectStore, AReaderThatMissedTooManyChangesGetsAllObjects) {
  StoreFixture f;
  std::uint64_t since = 0;
  f.store.apply(object("a", "x", "1"));
  changes(f, since);
  for (int i = 0; i < 70'000; ++i) f.store.apply(object("a", "y", std::to_string(i)));
  EXPECT_EQ(changes(f, since), "all +a/x:spec.type=1 +a/y:spec.type=69999 ");
}

TEST(ObjectStore, MayBeCalledFromAVisit) {
  StoreFixture f;
  f.store.apply(object("a", "x", "1"));
  f.store.apply(object("a", "y", "1"));
  f.store.each(f.services, "", [&](const Projection& p) {
    f.store.remove(object(p.ns, p.name, ""));
    return true;
  });
  EXPECT_EQ(f.all(""), "");
}

TEST(ObjectStore, EpochsGrowWithChangesOfTheirWatch) {
  StoreFixture f;
  const auto other = f.store.watch("apps/v1/replicasets", {});
  const std::uint64_t watched = f.store.epoch(f.services), others = f.store.epoch(other), any = f.store.epoch();
  f.store.apply(object("a", "s", "1"));
  EXPECT_GT(f.store.epoch(f.services), watched);
  EXPECT_EQ(f.store.epoch(other), others);
  EXPECT_GT(f.store.epoch(), any);
  const std::uint64_t after = f.store.epoch();
  f.store.remove(object("a", "unknown", ""));
  EXPECT_EQ(f.store.epoch(), after) << "nothing changed";
}

TEST(ObjectStore, ProjectsWithoutStoring) {
  StoreFixture f;
  EXPECT_EQ(f.store.project(f.services, object("a", "s", "9"))->values.at(0).text, "spec.type=9");
  EXPECT_EQ(f.seen(f.services, "a", "s"), "(none)");
}

struct AssumeFixture : StoreFixture {
  AssumeFixture() {
    store.apply(object("a", "s", "1"));
    version = store.get(services, "a", "s")->version;
  }
  Status assume(const std::string& name, std::uint64_t at, std::size_t values = 1) {
    return store.assume(services, "a", name, at, std::vector<FieldValue>(values, FieldValue{true, 0, "assumed"}));
  }
  std::uint64_t version = 0;
};

TEST(ObjectStoreOverlay, ShowsWhatIsAssumedUntilForgotten) {
  AssumeFixture f;
  const std::uint64_t epoch = f.store.epoch(f.services);
  ASSERT_TRUE(f.assume("s", f.version).ok());
  EXPECT_EQ(f.seen(f.services, "a", "s"), "assumed");
  EXPECT_GT(f.store.epoch(f.services), epoch);
  f.store.forget(f.services, "a", "s");
  EXPECT_EQ(f.seen(f.services, "a", "s"), "spec.type=1");
  const std::uint64_t after = f.store.epoch(f.services);
  f.store.forget(f.services, "a", "s");
  EXPECT_EQ(f.store.epoch(f.services), after) << "nothing was assumed any more";
}

TEST(ObjectStoreOverlay, GivesWhatIsAssumedTheTypesOfTheFields) {
  AssumeFixture f;
  const auto type = [&] { return f.store.get(f.services, "a", "s")->values.at(0).type; };
  ASSERT_TRUE(f.store.assume(f.services, "a", "s", f.version, {{true, 5, "assumed", FieldValue::k_unreadable}}).ok());
  EXPECT_EQ(type(), static_cast<std::uint32_t>(FieldType::text)) << "whatever the caller says";
  ASSERT_TRUE(f.store.assume(f.services, "a", "s", f.version, {{false, 0, "", 1}}).ok());
  EXPECT_EQ(type(), 0u) << "it is absent";
}

TEST(ObjectStoreOverlay, EndsWithANewVersion) {
  AssumeFixture f;
  ASSERT_TRUE(f.assume("s", f.version).ok());
  f.store.apply(object("a", "s", "2"));
  EXPECT_EQ(f.seen(f.services, "a", "s"), "spec.type=2");
}

TEST(ObjectStoreOverlay, RefusesWhatIsNotThereOrHasMovedOn) {
  AssumeFixture f;
  EXPECT_EQ(f.assume("unknown", f.version).error().code, ErrorCode::not_found);
  EXPECT_EQ(f.assume("s", f.version, 2).error().code, ErrorCode::bad_arguments);
  f.store.apply(object("a", "s", "2"));
  const Status stale = f.assume("s", f.version);
  ASSERT_FALSE(stale.ok());
  EXPECT_EQ(stale.error().code, ErrorCode::out_of_sync);
  EXPECT_EQ(f.seen(f.services, "a", "s"), "spec.type=2");
}

}  // namespace
}  // namespace berth::framework
