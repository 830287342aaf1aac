// SPDX-License-Identifier: Apache-2.0
// What comes as protobuf is what comes as JSON: in pieces of any size, as lists, as watches and as single objects.
#include <gtest/gtest.h>

#include <boost/json.hpp>
#include <map>
#include <tuple>

#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/api_status.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "support/protobuf_writer.hpp"
#include "support/rich_objects.hpp"
#include "text/parse.hpp"

namespace berth::tests {
namespace {

using namespace cluster::kube;
namespace json = boost::json;

/// Members by name, without those that are null.
json::value tidy(const json::value& value) {
  if (value.is_object()) {
    std::map<std::string, json::value> sorted;
    for (const auto& [key, member] : value.as_object())
      if (!member.is_null()) sorted.emplace(key, tidy(member));
    return json::object(sorted.begin(), sorted.end());
  }
  if (value.is_array()) {
    json::array out;
    for (const json::value& element : value.as_array()) out.push_back(tidy(element));
    return out;
  }
  return value;
}

struct Received {
  std::vector<decode::Decoded> objects;
  std::vector<std::string> events, problems;
  bool good = true;
  Result<ListMetadata> metadata = Error{"not asked"};
};

class ProtobufTest : public testing::Test {
 protected:
  decode::DecodeOptions options() {
    decode::DecodeOptions out;
    out.keeps_pod_body = [](const model::Pod&) { return true; };
    return out;
  }
  void take(Received& into, const text::Document& document, const text::Value& object, const decode::TypeHint& hint) {
    text::Diagnostics problems;
    if (auto decoded = decoder.decode(document, object, problems, hint)) into.objects.push_back(std::move(*decoded));
    if (!problems.empty()) into.problems.push_back(problems.render());
  }
  Received list(const std::string& type, const std::string& resource, std::string_view bytes, std::size_t piece) {
    Received out;
    const auto body = make_list_body(
        type, decode::wire_layout_of(resource), resource,
        [&](const text::Document* document, const decode::TypeHint& hint, const text::Diagnostics& problems) {
          if (document == nullptr)
            out.problems.push_back(problems.render());
          else
            take(out, *document, document->root(), hint);
        });
    for (; !bytes.empty() && out.good; bytes.remove_prefix(std::min(piece, bytes.size())))
      out.good = body->add(bytes.substr(0, piece)).ok();
    out.metadata = body->end();
    return out;
  }
  Received watch(const std::string& type, const std::string& resource, std::string_view bytes, std::size_t piece) {
    Received out;
    const auto body = make_watch_body(type, decode::wire_layout_of(resource), resource,
                                      [&](std::string_view event, const text::Document* document,
                                          const text::Value* object, const text::Diagnostics& problems) {
                                        out.events.emplace_back(event);
                                        if (!problems.empty()) out.problems.push_back(problems.render());
                                        if (object != nullptr) take(out, *document, *object, {});
                                      });
    for (; !bytes.empty() && out.good; bytes.remove_prefix(std::min(piece, bytes.size())))
      out.good = body->add(bytes.substr(0, piece)).ok();
    EXPECT_EQ(body->is_amid(), false);
    return out;
  }

  SymbolTable symbols;
  decode::ObjectDecoder decoder{symbols, options()};
};

json::value whole(const decode::Decoded& object) {
  const auto text = [](const auto& ptr) -> std::string {
    if constexpr (requires { ptr->json; })
      return ptr->json;
    else
      return ptr->body.empty() ? "{}" : ptr->body.text();
  };
  return tidy(json::parse(std::visit(text, object)));
}

void expect_same(const decode::Decoded& a, const decode::Decoded& b) {
  ASSERT_EQ(a.index(), b.index());
  EXPECT_EQ(json::serialize(whole(a)), json::serialize(whole(b)));
  if (const auto* p = std::get_if<model::PodPtr>(&a)) {
    const auto all = [](const model::Pod& x) {
      return std::tie(x.ns, x.name, x.uid, x.resource_version, x.creation_ns, x.start_ns, x.deleting, x.labels,
                      x.annotations, x.controller, x.scheduler_name, x.priority, x.node_name, x.requests,
                      x.node_selection, x.spec, x.volumes, x.node_volumes, x.phase, x.nominated_node, x.conditions);
    };
    EXPECT_TRUE(all(**p) == all(*std::get<model::PodPtr>(b)));
  }
  if (const auto* n = std::get_if<model::NodePtr>(&a)) {
    const auto all = [](const model::Node& x) {
      return std::tie(x.name, x.uid, x.resource_version, x.has_labels, x.labels, x.annotations, x.unschedulable,
                      x.taints, x.allowed_pods, x.allocatable, x.images, x.declared_features, x.conditions);
    };
    EXPECT_TRUE(all(**n) == all(*std::get<model::NodePtr>(b)));
  }
}

/// The object as the one item of a list, which does not name its kind.
std::string list_text(const RichObject& object, const std::string& next = "") {
  json::object item = json::parse(object.text).as_object(), list, metadata;
  metadata["resourceVersion"] = "4711";
  if (!next.empty()) metadata["continue"] = next;
  list["kind"] = std::string(item["kind"].as_string()) + "List";
  list["apiVersion"] = item["apiVersion"];
  list["metadata"] = metadata;
  item.erase("kind");
  item.erase("apiVersion");
  list["items"] = json::array({item, item});
  return json::serialize(list);
}

TEST_F(ProtobufTest, ListsDecodeToTheSameObjectsHoweverTheyAreCut) {
  for (const RichObject& object : rich_objects("ns", "x")) {
    const std::string text = list_text(object, "more");
    const std::string bytes = to_protobuf(text).value();
    const Received from_json = list("application/json", object.resource, text, text.size());
    ASSERT_EQ(from_json.objects.size(), 2U) << object.resource;
    for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{64}, bytes.size()}) {
      const Received got = list(std::string(k_protobuf), object.resource, bytes, piece);
      ASSERT_EQ(got.problems, std::vector<std::string>()) << object.resource;
      ASSERT_EQ(got.objects.size(), 2U) << object.resource << " in pieces of " << piece;
      ASSERT_TRUE(got.metadata.ok());
      EXPECT_EQ(got.metadata->version, "4711");
      EXPECT_EQ(got.metadata->next, "more");
      json::object named = whole(got.objects[0]).as_object();
      named.erase("kind");
      named.erase("apiVersion");
      if (const auto* o = std::get_if<model::ObjectPtr>(&got.objects[0])) {
        EXPECT_EQ((*o)->resource, object.resource);
      }
      EXPECT_EQ(json::serialize(tidy(named)), json::serialize(whole(from_json.objects[0]))) << object.resource;
    }
  }
}

TEST_F(ProtobufTest, WatchesDecodeToTheSameObjectsHoweverTheyAreCut) {
  for (const RichObject& object : rich_objects("ns", "x")) {
    const std::string one = json::serialize(json::parse(object.text));
    const std::string text =
        R"({"type":"ADDED","object":)" + one + "}\n" + R"({"type":"DELETED","object":)" + one + "}\n";
    const std::string bytes = to_protobuf_frames(text).value();
    const Received from_json = watch("application/json", object.resource, text, text.size());
    for (const std::size_t piece : {std::size_t{1}, std::size_t{5}, bytes.size()}) {
      const Received got = watch("application/vnd.kubernetes.protobuf;stream=watch", object.resource, bytes, piece);
      ASSERT_EQ(got.problems, std::vector<std::string>()) << object.resource;
      ASSERT_EQ(got.events, (std::vector<std::string>{"ADDED", "DELETED"}));
      for (std::size_t i = 0; i < got.objects.size(); ++i) expect_same(got.objects[i], from_json.objects[i]);
    }
  }
}

TEST_F(ProtobufTest, ATruncatedListIsNotTaken) {
  const RichObject pod = rich_objects("ns", "x").front();
  const std::string bytes = to_protobuf(list_text(pod)).value();
  // The last four bytes are the two empty fields behind the list: without them it is as good.
  for (std::size_t size = 0; size + 4 < bytes.size(); size += 3)
    EXPECT_FALSE(list(std::string(k_protobuf), pod.resource, bytes.substr(0, size), 100).metadata.ok()) << size;
}

TEST_F(ProtobufTest, DamageIsAProblemAndNeverACrash) {
  const RichObject pod = rich_objects("ns", "x").front();
  const std::string bytes = to_protobuf(list_text(pod)).value();
#if defined(__SANITIZE_THREAD__)
  constexpr std::size_t k_step = 7;  // slow, and one thread reads
#else
  constexpr std::size_t k_step = 1;
#endif
  std::size_t refused = 0;
  for (std::size_t i = 0; i < bytes.size(); i += k_step)
    for (const char mask : {'\x01', '\x80', '\xff'}) {
      std::string damaged = bytes;
      damaged[i] = static_cast<char>(damaged[i] ^ mask);
      const Received got = list(std::string(k_protobuf), pod.resource, damaged, 64);
      if (!got.good || !got.problems.empty() || !got.metadata.ok()) ++refused;
    }
  EXPECT_GT(refused, bytes.size() / (8 * k_step));  // damaged text is text
  EXPECT_FALSE(list(std::string(k_protobuf), pod.resource, "{\"items\":[]}", 100).good);
}

TEST_F(ProtobufTest, WhatCannotBeReadIsSaidAndTheRestIsThere) {
  const decode::WireLayout pod = decode::wire_layout("v1", "Pod");
  struct Case {
    std::string bytes, words, rest;
  };
  const std::string kind = R"({"apiVersion":"v1","kind":"Pod")";
  const std::vector<Case> cases = {
      {std::string("\x0a\x09\x0a\x02") + "ab\x1a\x05zz", "end of buffer", R"(,"metadata":{"name":"ab"}})"},
      {"\x08\x01\x12\x04\x52\x02no", "Pod.metadata: of another kind", R"(,"spec":{"nodeName":"no"}})"},
      {"\x12\x07\x52\x02no\x0b\x0c\x0d", "unknown pbf field type", R"(,"spec":{"nodeName":"no"}})"}};
  for (const Case& c : cases) {
    text::Diagnostics problems;
    const auto documents = text::parse_protobuf(c.bytes, *pod.message, "v1", "Pod", "pods", problems);
    EXPECT_NE(problems.render().find(c.words), std::string::npos) << problems.render();
    ASSERT_EQ(documents.size(), 1u);
    EXPECT_EQ(text::to_json(documents.front().root()), kind + c.rest);
  }
}

// An API server checks neither in the bodies that it takes.
TEST_F(ProtobufTest, TextIsReadAsGoWritesItAndTimesAreInRange) {
  const decode::WireLayout pod = decode::wire_layout("v1", "Pod");
  struct Case {
    std::string bytes, want;
  };
  const std::vector<Case> cases = {
      {std::string("\x0a\x04\x0a\x02\xff\xfe", 6), "\"name\":\"\xEF\xBF\xBD\xEF\xBF\xBD\""},
      {std::string("\x0a\x0e\x42\x0c\x08\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x10\x00", 16), "\"9999-12-31T23:59:59Z\""},
      {std::string("\x0a\x0d\x42\x0b\x08\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01", 15), "\"0000-01-01T00:00:00Z\""}};
  for (const Case& c : cases) {
    text::Diagnostics problems;
    const auto documents = text::parse_protobuf(c.bytes, *pod.message, "v1", "Pod", "pods", problems);
    EXPECT_EQ(problems.render(), "");
    EXPECT_NE(text::to_json(documents.at(0).root()).find(c.want), std::string::npos)
        << text::to_json(documents.at(0).root());
  }
}

TEST_F(ProtobufTest, ARefusalIsReadInEitherEncoding) {
  const std::string text =
      R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure","message":"gone","reason":"Expired","code":410})";
  for (const std::string& body : {text, to_protobuf(text).value()}) {
    const Error error = api_error(410, body);
    EXPECT_EQ(error.code, ErrorCode::expired);
    EXPECT_EQ(error.message, "gone");
  }
  EXPECT_EQ(api_error(503, std::string("k8s\0\xff", 5)).message, "the server answered 503");
}

TEST_F(ProtobufTest, ResourcesWithoutALayoutAreKnownAsSuch) {
  EXPECT_EQ(decode::wire_layout_of("core/v1/pods").kind, "Pod");
  EXPECT_EQ(decode::wire_layout_of("storage.k8s.io/v1/csistoragecapacities").api_version, "storage.k8s.io/v1");
  EXPECT_EQ(decode::wire_layout_of("example.com/v1/widgets").message, nullptr);
  EXPECT_EQ(decode::wire_layout_of("core/v1/podspecs").message, nullptr);
}

}  // namespace
}  // namespace berth::tests
