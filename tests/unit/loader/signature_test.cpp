// SPDX-License-Identifier: Apache-2.0
// Signatures that minisign 0.11 made: of the hash of a file, and with -l of the file itself.
#include "loader/signature.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace berth::loader {
namespace {

constexpr std::string_view k_file = "the bytes of a plugin\n";
constexpr const char* k_key = "RWRf5XnpvOH+A59wvWf8Qaf4sdykSvFSfaj0g/PGSHf/Kp+Dvc+hLP89";
constexpr const char* k_other_key = "RWSixSyHgj8OFquCLsIyJWZRNKU9hdAOaQbt0uv816jukpVDl5A7XEIW";
const std::string k_of_hash =
    "untrusted comment: signature from minisign secret key\n"
    "RURf5XnpvOH+A8IEg8798OwbZ7f4c7aLbc8m1wpRH3PJ2ZYerpHAlCy5R4ZKVcE3IGqEq+OOlQMm5hMIUJMwOoPEjJdV0Vnyxg8=\n"
    "trusted comment: plugin.so 1.2.0\n"
    "2imnP28/iYoNz9lX/FPu3E09BMAPJYbdwiKWvGuUd1KkfHTChdjh9e1Sfr1YxZfNpi4igln6cktcCR4Kal1rBQ==\n";
const std::string k_of_file =
    "untrusted comment: signature from minisign secret key\n"
    "RWRf5XnpvOH+A1YkK5VKkFz5a5/3IX6WXLp4Z8+qeBF+IxoVQjDeQm2Jl9fZyMUAQvD+Sk7ZEXIsvlXYexYIyZEaeiL9IxX/qAk=\n"
    "trusted comment: plugin.so 1.2.0\n"
    "33kD56o7oSaFTDZoIOW9j1XPGpOZAPgkLdAzH867kxB4V/ayMRRx8ZVhAcmHT2D2nZ4tW8gts5l07Ws/nnH6DA==\n";

std::span<const std::byte> bytes(std::string_view text) { return std::as_bytes(std::span(text.data(), text.size())); }

PublicKey key(const char* text) { return PublicKey::parse(text).value(); }

std::string problem(std::string_view file, std::string_view signature, const std::vector<PublicKey>& keys) {
  const Status checked = check_signature(bytes(file), signature, keys);
  return checked.ok() ? "" : checked.error().message;
}

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return at == std::string::npos ? text : text.replace(at, from.size(), to);
}

TEST(Signature, OfTheHashAndOfTheFileItselfAreAccepted) {
  EXPECT_EQ(problem(k_file, k_of_hash, {key(k_other_key), key(k_key)}), "");
  EXPECT_EQ(problem(k_file, k_of_file, {key(k_key)}), "");
}

TEST(Signature, OfOtherBytesIsRefused) {
  EXPECT_EQ(problem("the bytes of another\n", k_of_hash, {key(k_key)}), "the file is not the one that was signed");
  EXPECT_EQ(problem("the bytes of another\n", k_of_file, {key(k_key)}), "the file is not the one that was signed");
  EXPECT_EQ(problem("", k_of_hash, {key(k_key)}), "the file is not the one that was signed");
}

TEST(Signature, OfAnUnknownKeyNamesIt) {
  EXPECT_EQ(problem(k_file, k_of_hash, {key(k_other_key)}),
            "it was signed with the key 3FEE1BCE979E55F, which plugins.publicKeys does not have");
  EXPECT_EQ(problem(k_file, k_of_hash, {}),
            "it was signed with the key 3FEE1BCE979E55F, which plugins.publicKeys does not have");
}

TEST(Signature, WithAnotherTrustedCommentIsRefused) {
  EXPECT_EQ(problem(k_file, changed(k_of_hash, "plugin.so 1.2.0", "plugin.so 9.9.9"), {key(k_key)}),
            "its trusted comment is not the one that was signed");
}

TEST(Signature, EveryChangedCharacterOfWhatIsSignedIsNoticed) {
  const std::size_t first = k_of_hash.find('\n') + 1;
  for (std::size_t i = first; i < k_of_hash.size(); ++i) {
    std::string other = k_of_hash;
    other[i] = other[i] == 'A' ? 'B' : 'A';
    EXPECT_NE(problem(k_file, other, {key(k_key)}), "") << i;
  }
}

TEST(Signature, TextThatIsNoneIsRefusedWhereverItEnds) {
  for (std::size_t length = 0; length + 1 < k_of_hash.size(); ++length)
    EXPECT_NE(problem(k_file, k_of_hash.substr(0, length), {key(k_key)}), "") << length;
  EXPECT_EQ(problem(k_file, k_of_hash + "more", {key(k_key)}), "it is no signature of minisign");
}

TEST(PublicKey, IsReadAndShownAsMinisignDoes) {
  EXPECT_EQ(key(k_key).number_text(), "3FEE1BCE979E55F");
  EXPECT_EQ(key(k_other_key).number_text(), "160E3F82872CC5A2");
  for (const char* const text : {"", "RW", "nonsense!", "RWRf5XnpvOH+A59wvWf8Qaf4sdykSvFSfaj0g/PGSHf/Kp+Dvc+h",
                                 "RWRf5XnpvOH+A59wvWf8Qaf4sdykSvFSfaj0g/PGSHf/Kp+Dvc+hLP89AAAA"})
    EXPECT_FALSE(PublicKey::parse(text).ok()) << text;
}

}  // namespace
}  // namespace berth::loader
