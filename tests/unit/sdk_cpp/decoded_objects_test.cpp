// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>
#include <berth/decoded_objects.hpp>
#include <berth/testkit/cluster.hpp>
#include <berth/testkit/policy.hpp>

namespace berth {
namespace {

using testkit::FakeCluster;

struct Slice {
  std::string name, node;
};

Objects objects_of(const testkit::FakeHost& host) {
  const berth_host_v1* const raw = host.host();
  return {raw->ctx, static_cast<const berth_objects_v1*>(raw->service(raw->ctx, Objects::id))};
}

/// A watch of slices with their node, which counts what is decoded.
struct Slices {
  Slices() {
    const berth_field_v1 field{borrow("spec.nodeName"), BERTH_FIELD_STR, 0};
    FakeCluster::install(host);
    const Objects service = objects_of(host);
    const std::uint32_t watch = service.watch("example.com/v1/slices", std::span(&field, 1));
    objects.emplace(service, watch, [this](const berth_object_v1& object) -> std::shared_ptr<const Slice> {
      ++decoded;
      if (view(object.name) == "broken") return nullptr;
      return std::make_shared<Slice>(Slice{std::string(view(object.name)), std::string(view(object.values[0].text))});
    });
    by_node = objects->add_index([](const Slice& slice, const auto& add) {
      if (!slice.node.empty()) add(slice.node);
    });
  }
  void put(const std::string& name, const std::string& node) {
    FakeCluster::of(host).put("example.com/v1/slices", "", name, {node});
  }
  std::string of_node(std::string_view node) const {
    std::string names;
    objects->each_of(by_node, node, [&](const Slice& slice) { names += slice.name + ' '; });
    return names;
  }
  testkit::FakeHost host;
  int decoded = 0;
  std::optional<DecodedObjects<Slice>> objects;
  std::size_t by_node = 0;
};

TEST(DecodedObjects, AreFoundByNameAndByField) {
  Slices s;
  s.put("s1", "n1");
  s.put("s2", "n2");
  s.put("s3", "n1");
  s.put("everywhere", "");
  EXPECT_TRUE(s.objects->refresh());
  EXPECT_EQ(s.objects->size(), 4u);
  EXPECT_EQ(s.of_node("n1"), "s1 s3 ");
  EXPECT_EQ(s.of_node("n2"), "s2 ");
  EXPECT_EQ(s.of_node("n3"), "");
  EXPECT_EQ(s.of_node(""), "");
  ASSERT_NE(s.objects->find("", "s2"), nullptr);
  EXPECT_EQ(s.objects->find("", "s2")->node, "n2");
  EXPECT_EQ(s.objects->find("", "s4"), nullptr);
}

TEST(DecodedObjects, AreDecodedOncePerVersion) {
  Slices s;
  s.put("s1", "n1");
  s.put("s2", "n1");
  s.objects->refresh();
  EXPECT_EQ(s.decoded, 2);
  EXPECT_FALSE(s.objects->refresh());
  EXPECT_EQ(s.decoded, 2);
  s.put("s1", "n2");
  EXPECT_TRUE(s.objects->refresh());
  EXPECT_EQ(s.decoded, 3);
  EXPECT_EQ(s.of_node("n1"), "s2 ");
  EXPECT_EQ(s.of_node("n2"), "s1 ");
}

TEST(DecodedObjects, TellWhatWasAndWhatIs) {
  Slices s;
  std::string told;
  const auto tell = [&](const auto& key, const auto& before, const auto& now) {
    told +=
        key.second + ':' + (before == nullptr ? "-" : before->node) + '>' + (now == nullptr ? "-" : now->node) + ' ';
  };
  s.put("s1", "n1");
  s.put("broken", "n1");
  s.objects->refresh(tell);
  EXPECT_EQ(told, "s1:->n1 ") << "what cannot be read is not there";
  told.clear();
  s.put("s1", "n2");
  s.objects->refresh(tell);
  EXPECT_EQ(told, "s1:n1>n2 ");
  told.clear();
  FakeCluster::of(s.host).remove("example.com/v1/slices", "", "s1");
  s.objects->refresh(tell);
  EXPECT_EQ(told, "s1:n2>- ");
  EXPECT_EQ(s.of_node("n2"), "");
}

TEST(DecodedObjects, ABatchIsTakenOnlyIfNoOtherWasTakenSince) {
  Slices s;
  const auto nothing = [](const auto&, const auto&, const auto&) {};
  s.put("s1", "n1");
  auto first = s.objects->read();
  s.put("s1", "n2");
  auto second = s.objects->read();
  EXPECT_TRUE(s.objects->take(std::move(second), nothing));
  EXPECT_FALSE(s.objects->take(std::move(first), nothing)) << "it knows less";
  EXPECT_EQ(s.of_node("n2"), "s1 ");
}

TEST(DecodedObjects, OneThatCannotBeDecodedIsTriedAgain) {
  Slices s;
  bool throws = true;
  const berth_field_v1 field{borrow("spec.nodeName"), BERTH_FIELD_STR, 0};
  const Objects service = objects_of(s.host);
  DecodedObjects<Slice> objects(service, service.watch("example.com/v1/slices", std::span(&field, 1)),
                                [&](const berth_object_v1&) -> std::shared_ptr<const Slice> {
                                  if (throws) throw Failure("not now");
                                  return std::make_shared<Slice>();
                                });
  s.put("s1", "n1");
  EXPECT_THROW(objects.refresh(), Failure);
  EXPECT_EQ(objects.size(), 0u);
  throws = false;
  EXPECT_TRUE(objects.refresh());
  EXPECT_EQ(objects.size(), 1u);
}

}  // namespace
}  // namespace berth
