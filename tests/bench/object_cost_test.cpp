// SPDX-License-Identifier: Apache-2.0
// What an object costs to read is in proportion to its size, whatever it is full of. Counted, so that it is the same on
// each run: calls of operator new and the bytes that they ask for. How often something is looked at takes time alone; that
// is what growth_test and `object_shapes --limit-ms` are for.
#include <gtest/gtest.h>

#include "bench/allocation_count.hpp"
#include "bench/object_shapes.hpp"
#include "cluster/kube/read/answer_body.hpp"
#include "cluster/kube/read/protobuf_frames.hpp"
#include "decode/object_decoder.hpp"

namespace berth::bench {
namespace {

constexpr std::size_t k_small_bytes = 50'000, k_large_bytes = 4 * k_small_bytes;
constexpr double k_growth_max = 5;  // of four times the size: tables that double may be half full
constexpr double k_bytes_per_byte_max = 160;
constexpr double k_calls_per_item_max = 20;

struct Counted {
  double items = 0, bytes = 0;  // of the object
  double calls = 0, asked_bytes = 0;
};

Counted read(const Shape& shape, std::size_t size) {
  const std::size_t items = items_of(shape, size, false);
  const std::string bytes = encoded(shape, items, false);
  decode::DecodeOptions options;
  options.keeps_pod_body = [](const model::Pod&) { return true; };
  options.keep_node_bodies = true;
  SymbolTable symbols;
  const decode::ObjectDecoder decoder(symbols, options);
  const decode::WireLayout layout = decode::wire_layout("v1", "Pod");  // of a watch each event says its own
  bool is_read = false;
  const auto body = cluster::kube::make_watch_body("application/json", layout, "watch",
                                                   [&](std::string_view, const text::Document* document,
                                                       const text::Value* object, const text::Diagnostics& problems) {
                                                     text::Diagnostics own = problems;
                                                     is_read = object != nullptr &&
                                                               decoder.decode(*document, *object, own).has_value();
                                                     EXPECT_TRUE(own.empty()) << own.render().substr(0, 300);
                                                   });
  const std::uint64_t calls = allocation_count(), asked = allocated_bytes();
  EXPECT_TRUE(body->add(bytes).ok());
  EXPECT_TRUE(is_read);
  return {static_cast<double>(items), static_cast<double>(bytes.size()),
          static_cast<double>(allocation_count() - calls), static_cast<double>(allocated_bytes() - asked)};
}

TEST(ObjectCost, IsInProportionToTheSizeWhateverTheObjectIsFullOf) {
  double most_bytes = 0, most_calls = 0, most_growth = 0;
  for (const Shape& shape : k_shapes) {
    SCOPED_TRACE(name_of(shape));
    const Counted small = read(shape, k_small_bytes), large = read(shape, k_large_bytes);
    const double growth =
        std::max(large.calls / std::max(small.calls, 200.0), large.asked_bytes / std::max(small.asked_bytes, 1.0));
    EXPECT_LE(growth, k_growth_max);
    EXPECT_LE(large.asked_bytes / large.bytes, k_bytes_per_byte_max);
    EXPECT_LE(large.calls / large.items, k_calls_per_item_max);
    most_growth = std::max(most_growth, growth);
    most_bytes = std::max(most_bytes, large.asked_bytes / large.bytes);
    most_calls = std::max(most_calls, large.calls / large.items);
  }
  std::printf("at most: growth %.2f, %.0f bytes per byte, %.1f calls per item\n", most_growth, most_bytes, most_calls);
}

}  // namespace
}  // namespace berth::bench
