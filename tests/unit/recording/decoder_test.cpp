// SPDX-License-Identifier: Apache-2.0
// Payloads that no encoder writes.
#include "recording/decoder.hpp"

#include "recording/encoder.hpp"
#include "recording/state.hpp"
#include "recording_fixture.hpp"

namespace berth::recording {
namespace {

class HostilePayload : public RecordingFixture {
 protected:
  std::string answer(const Record& record, std::int64_t segment_began_ns = 0) {
    return answer_to(Encoder(symbols).encode(record, 0), segment_began_ns);
  }
  std::string answer_to(const std::string& payload, std::int64_t segment_began_ns = 0) {
    const Result<Record> read = decoder.decode(payload, segment_began_ns);
    return read.ok() ? "" : read.error().message;
  }
  static std::string varint(std::uint64_t value) {
    std::string out;
    for (; value >= 0x80; value >>= 7) out += static_cast<char>(value | 0x80);
    return out + static_cast<char>(value);
  }
  /// Nominations, each with that as its node.
  static std::string nominations(std::size_t count, const std::string& node) {
    std::string out{static_cast<char>(Kind::nominations), '\0', '\1'};
    out += varint(count);
    for (std::size_t i = 0; i < count; ++i) out += std::string(1, '\0') + node + std::string(1, '\0');
    return out;
  }
  static std::string remembered(const std::string& text) { return varint(1) + varint(text.size()) + text; }

  Decoder decoder{read_symbols};
};

TEST_F(HostilePayload, APlanMustNeedAtLeastOneMember) {
  Record attempt = of(Kind::attempt, pod("web-1"));
  attempt.attempt.way = Way::planned;
  EXPECT_EQ(answer(attempt), "a plan needs no member");
  attempt.attempt.needed = 1;
  EXPECT_EQ(answer(attempt), "");
}

TEST_F(HostilePayload, MomentsThatCannotBeCountedWithAreRefused) {
  Record look = of(Kind::look);
  for (const std::int64_t ns : {k_far_ns, -k_far_ns}) EXPECT_EQ(answer(look, ns), "its moment is out of range");
  EXPECT_EQ(answer(look, k_far_ns - 1), "");
  Record set = of(Kind::clock);
  set.wall_ns = k_far_ns;
  EXPECT_EQ(answer(set), "its moment is out of range");
  Record attempt = of(Kind::attempt, pod("web-1"));
  for (const std::int64_t ns : {std::int64_t{-1}, k_far_ns}) {
    attempt.attempt.took_ns = ns;
    EXPECT_EQ(answer(attempt), "it took a time that is out of range");
  }
  Record read;
  for (const bool is_wall : {true, false}) {
    Reader reader =
        Reader::of_bytes(header_bytes({1, 1, is_wall ? k_far_ns : 0, is_wall ? 0 : -k_far_ns}), "far", read_symbols);
    EXPECT_FALSE(reader.next(read));
    ASSERT_EQ(reader.problems().size(), 1u);
    EXPECT_EQ(reader.problems()[0], "far: its moment is out of range");
  }
}

TEST_F(HostilePayload, AWallClockFarFromTheOtherIsThatOfTheSegment) {
  // Each of the two moments may be, but what lies between them and the record may not.
  std::string bytes = header_bytes({1, 1, k_far_ns - 5, 0});
  append_frame(bytes, Encoder(symbols).encode(of(Kind::look), -100));
  Reader reader = Reader::of_bytes(std::move(bytes), "far", read_symbols);
  Record read;
  ASSERT_TRUE(reader.next(read));
  EXPECT_EQ(read.wall_ns, k_far_ns - 5);
}

TEST_F(HostilePayload, TheVersionBeforeIsReadAndALaterOneIsNot) {
  std::string bytes = header_bytes({1, 1, 5, 0});
  append_frame(bytes, Encoder(symbols).encode(of(Kind::look), 0));
  Record read;
  bytes[8] = 1;
  EXPECT_TRUE(Reader::of_bytes(bytes, "older", read_symbols).next(read));
  bytes[8] = static_cast<char>(k_version + 1);
  Reader later = Reader::of_bytes(bytes, "later", read_symbols);
  EXPECT_FALSE(later.next(read));
  ASSERT_EQ(later.problems().size(), 1u);
  EXPECT_EQ(later.problems()[0], "later: it is of version 4; this berth reads 1 to 3");
}

TEST_F(HostilePayload, AnAttemptOfAnOlderVersionHasNoTotal) {
  Record attempt = of(Kind::attempt, pod("web-1"));
  attempt.attempt.total = 64;  // two bytes, the last
  Encoder encoder(symbols);
  std::string payload = encoder.encode(attempt, 0);
  std::string bytes = header_bytes({1, 1, 0, 0});
  append_frame(bytes, payload);
  Record read;
  ASSERT_TRUE(Reader::of_bytes(bytes, "now", read_symbols).next(read));
  EXPECT_EQ(read.attempt.total, 64);
  payload.resize(payload.size() - 2);
  bytes = header_bytes({1, 1, 0, 0});
  bytes[8] = 2;
  append_frame(bytes, payload);
  ASSERT_TRUE(Reader::of_bytes(bytes, "older", read_symbols).next(read));
  EXPECT_EQ(read.attempt.total, 0);
}

TEST_F(HostilePayload, TheNumberOfRememberedTextsIsBounded) {
  std::string last;
  for (std::size_t i = 0; i <= Encoder::k_words_max && last.empty(); i += 1'024)
    last = answer_to(nominations(1'024, remembered("w")));
  EXPECT_EQ(last, "it remembers more texts than there is room for");
}

TEST_F(HostilePayload, TheBytesOfRememberedTextsAreBounded) {
  const std::string word(Encoder::k_word_bytes_max * 3 / 4, 'x');
  EXPECT_EQ(answer_to(nominations(1, remembered(word))), "");
  EXPECT_EQ(answer_to(nominations(1, remembered(word))), "it remembers more texts than there is room for");
}

TEST_F(HostilePayload, RepetitionsOfOneTextAreBounded) {
  EXPECT_EQ(answer_to(nominations(1, remembered(std::string(Encoder::k_word_bytes_max, 'x')))), "");
  const std::string first_word = varint(3);
  EXPECT_EQ(answer_to(nominations(10, first_word)), "");
  EXPECT_EQ(answer_to(nominations(100, first_word)), "its texts come again more often than those of any recording");
}

TEST_F(HostilePayload, RepetitionsOfTextsInManyRecordsAreBounded) {
  EXPECT_EQ(answer_to(nominations(1, remembered(std::string(Encoder::k_word_bytes_max, 'x')))), "");
  std::size_t bytes = 0;
  std::string last;
  for (int i = 0; i < 100 && last.empty(); ++i) {
    const Result<Record> read = decoder.decode(nominations(5, varint(3)), 0);
    if (read.ok()) bytes += read->bytes;
    last = read.ok() ? "" : read.error().message;
  }
  EXPECT_EQ(last, "its texts come again more often than those of any recording");
  EXPECT_GT(bytes, Encoder::k_word_bytes_max) << "a record says what it takes";
  EXPECT_LT(bytes, Encoder::k_word_bytes_max * 20);
}

TEST_F(HostilePayload, WhatAnEncoderWritesCanBeReadHoweverOftenTextsComeAgain) {
  Encoder encoder(symbols);
  Record attempt = of(Kind::attempt, pod("web-1"));
  Rejected rejected;
  rejected.message = std::string(50'000, 'm');
  attempt.rejected = std::make_shared<const Rejected>(rejected);
  std::size_t written = 0;
  for (int i = 0; i < 300; ++i) {
    const std::string& payload = encoder.encode(attempt, 0);
    written += payload.size();
    const Result<Record> read = decoder.decode(payload, 0);
    ASSERT_TRUE(read.ok()) << read.error().message << " at " << i;
    ASSERT_EQ(read->rejected->message, rejected.message);
  }
  EXPECT_GT(written, 300 * rejected.message.size() / 20) << "and it is written out again in proportion";
}

TEST_F(HostilePayload, AClusterThatTakesTooMuchMemoryIsNotKept) {
  State state;
  state.begin_run();
  Record node = of(Kind::node);
  node.node = object<model::NodePtr>(k_node);
  node.bytes = HeldBytes::k_bytes_max / 2;
  state.apply(node);
  state.apply(node);  // the same one again
  EXPECT_TRUE(state.is_complete());
  Record other = of(Kind::waiting_pod, pod("web-1"));
  other.bytes = HeldBytes::k_bytes_max / 2;
  state.apply(other);
  EXPECT_FALSE(state.is_complete());
  EXPECT_TRUE(state.is_too_large());
  EXPECT_EQ(state.nodes(), 0u);
  // A whole cluster that is not too large is known again.
  other.bytes = 1;
  for (const Kind kind : {Kind::state_begins, Kind::waiting_pod, Kind::state_ends}) {
    Record each = kind == Kind::waiting_pod ? other : of(kind);
    state.apply(each);
  }
  EXPECT_TRUE(state.is_complete());
  EXPECT_FALSE(state.is_too_large());
}

TEST_F(HostilePayload, ObjectsThatAreGoneTakeNoMemory) {
  HeldBytes held;
  Record waiting = of(Kind::waiting_pod, pod("web-1"));
  waiting.bytes = HeldBytes::k_bytes_max * 3 / 4;
  EXPECT_TRUE(held.take(waiting));
  Record placed = waiting;
  placed.kind = Kind::placed_pod;
  EXPECT_TRUE(held.take(placed)) << "it does not wait any more";
  EXPECT_TRUE(held.take(of(Kind::placed_pod_gone, std::string(waiting.pod->uid))));
  EXPECT_EQ(held.bytes(), 0u);
}

}  // namespace
}  // namespace berth::recording
