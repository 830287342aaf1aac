// SPDX-License-Identifier: Apache-2.0
#include "loader/signature.hpp"

#include <openssl/evp.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "base/base64.hpp"
#include "base/check.hpp"

namespace berth::loader {
namespace {

constexpr std::size_t k_algorithm_bytes = 2, k_number_bytes = 8, k_key_bytes = 32, k_sign_bytes = 64;
constexpr std::string_view k_of_hash = "ED", k_of_file = "Ed";
constexpr std::string_view k_untrusted = "untrusted comment: ", k_trusted = "trusted comment: ";

/// Takes the next line off the text, without its end.
std::string_view take_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

struct PublicKeyFree {
  void operator()(EVP_PKEY* key) const noexcept { EVP_PKEY_free(key); }
};
struct DigestContextFree {
  void operator()(EVP_MD_CTX* context) const noexcept { EVP_MD_CTX_free(context); }
};

bool is_signed(std::span<const unsigned char> message, std::span<const unsigned char> signature,
               std::span<const unsigned char> key) {
  const std::unique_ptr<EVP_PKEY, PublicKeyFree> of(
      EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, key.data(), key.size()));
  const std::unique_ptr<EVP_MD_CTX, DigestContextFree> context(EVP_MD_CTX_new());
  return of != nullptr && context != nullptr &&
         EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, of.get()) == 1 &&
         EVP_DigestVerify(context.get(), signature.data(), signature.size(), message.data(), message.size()) == 1;
}

std::span<const unsigned char> octets(std::string_view text) {
  return {reinterpret_cast<const unsigned char*>(text.data()), text.size()};
}

/// The parts of a .minisig file. Views into what they were read from, and what was decoded.
struct Signature {
  std::string head;  // algorithm, number of the key, signature
  std::string_view comment;
  std::string of_comment;  // signature of the signature and the trusted comment

  std::string_view algorithm() const { return std::string_view(head).substr(0, k_algorithm_bytes); }
  std::string_view number() const { return std::string_view(head).substr(k_algorithm_bytes, k_number_bytes); }
  std::string_view sign() const { return std::string_view(head).substr(k_algorithm_bytes + k_number_bytes); }
};

std::optional<Signature> read(std::string_view text) {
  Signature signature;
  if (!take_line(text).starts_with(k_untrusted)) return std::nullopt;
  const std::optional<std::string> head = decode_base64(take_line(text));
  const std::string_view comment = take_line(text);
  const std::optional<std::string> of_comment = decode_base64(take_line(text));
  if (!head || !of_comment || !comment.starts_with(k_trusted) || !text.empty()) return std::nullopt;
  if (head->size() != k_algorithm_bytes + k_number_bytes + k_sign_bytes || of_comment->size() != k_sign_bytes)
    return std::nullopt;
  signature.head = *head;
  signature.comment = comment.substr(k_trusted.size());
  signature.of_comment = *of_comment;
  if (signature.algorithm() != k_of_hash && signature.algorithm() != k_of_file) return std::nullopt;
  return signature;
}

/// The number is a little-endian integer, and minisign shows it without zeros in front.
std::string number_text(std::span<const unsigned char> bytes) {
  std::uint64_t number = 0;
  for (std::size_t i = bytes.size(); i-- > 0;) number = number << 8 | bytes[i];
  return fmt::format("{:X}", number);
}

}  // namespace

Result<PublicKey> PublicKey::parse(std::string_view base64) {
  const std::optional<std::string> bytes = decode_base64(base64);
  if (!bytes || bytes->size() != k_algorithm_bytes + k_number_bytes + k_key_bytes || !bytes->starts_with(k_of_file))
    return Error{"not a public key of minisign, which has 56 characters and begins with RW"};
  PublicKey key;
  std::copy_n(octets(*bytes).begin() + k_algorithm_bytes, k_number_bytes, key.number_.begin());
  std::copy_n(octets(*bytes).begin() + k_algorithm_bytes + k_number_bytes, k_key_bytes, key.key_.begin());
  return key;
}

std::string PublicKey::number_text() const { return loader::number_text(number_); }

Status check_signature(std::span<const std::byte> bytes, std::string_view text, std::span<const PublicKey> keys) {
  const std::optional<Signature> signature = read(text);
  if (!signature) return Error{"it is no signature of minisign"};
  const auto key = std::find_if(keys.begin(), keys.end(), [&](const PublicKey& each) {
    return std::equal(each.number_.begin(), each.number_.end(), octets(signature->number()).begin());
  });
  if (key == keys.end())
    return Error{fmt::format("it was signed with the key {}, which plugins.publicKeys does not have",
                             number_text(octets(signature->number())))};

  std::span<const unsigned char> message(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
  std::array<unsigned char, EVP_MAX_MD_SIZE> hash{};
  if (signature->algorithm() == k_of_hash) {
    unsigned hash_bytes = 0;
    const bool hashed =
        EVP_Digest(bytes.data(), bytes.size(), hash.data(), &hash_bytes, EVP_blake2b512(), nullptr) == 1;
    BERTH_CHECK(hashed, "OpenSSL cannot compute a BLAKE2b");
    message = {hash.data(), hash_bytes};
  }
  if (!is_signed(message, octets(signature->sign()), key->key_))
    return Error{"the file is not the one that was signed"};
  const std::string signed_comment = std::string(signature->sign()) + std::string(signature->comment);
  if (!is_signed(octets(signed_comment), octets(signature->of_comment), key->key_))
    return Error{"its trusted comment is not the one that was signed"};
  return Unit{};
}

}  // namespace berth::loader
