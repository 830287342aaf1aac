// SPDX-License-Identifier: Apache-2.0
#include "serving/self_signed.hpp"

#include <arpa/inet.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/rsa.h>
#include <openssl/x509v3.h>
#include <spdlog/fmt/fmt.h>

#include <array>
#include <memory>

#include "serving/openssl_handles.hpp"

namespace berth::serving {
namespace {

constexpr unsigned int k_key_bits = 2048;

Error openssl_error(const char* step) {
  std::array<char, 256> text{};
  ERR_error_string_n(ERR_get_error(), text.data(), text.size());
  return {fmt::format("self-signed certificate: {}: {}", step, text.data())};
}

bool add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const std::unique_ptr<X509_EXTENSION, Freed<X509_EXTENSION_free>> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

Certificate make_base(const std::string& name, EVP_PKEY* key, std::int64_t wall_ns, long serial) {
  Certificate out(X509_new());
  if (!out) return out;
  const time_t now = static_cast<time_t>(wall_ns / 1'000'000'000);
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), serial);
  ASN1_TIME_set(X509_getm_notBefore(out.get()), now - 3600);
  ASN1_TIME_set(X509_getm_notAfter(out.get()), now + 365L * 24 * 3600);
  X509_set_pubkey(out.get(), key);
  X509_NAME_add_entry_by_txt(X509_get_subject_name(out.get()), "CN", MBSTRING_UTF8,
                             reinterpret_cast<const unsigned char*>(name.c_str()), -1, -1, 0);
  return out;
}

std::string alternative_names(const std::vector<std::string>& hosts) {
  std::string out = "DNS:localhost,IP:127.0.0.1";
  for (const std::string& host : hosts) {
    std::array<unsigned char, 16> address{};
    const bool is_address =
        inet_pton(AF_INET, host.c_str(), address.data()) == 1 || inet_pton(AF_INET6, host.c_str(), address.data()) == 1;
    if (host != "localhost" && host != "127.0.0.1") out += fmt::format(",{}:{}", is_address ? "IP" : "DNS", host);
  }
  return out;
}

std::string pem_of(const Memory& memory) {
  char* data = nullptr;
  const long size = BIO_get_mem_data(memory.get(), &data);
  return {data, static_cast<std::size_t>(size)};
}

std::string pem(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  return pem_of(memory);
}

std::string pem(EVP_PKEY* key) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key, nullptr, nullptr, 0, nullptr, nullptr);
  return pem_of(memory);
}

}  // namespace

Result<KeyPair> make_self_signed(const std::vector<std::string>& hosts, std::int64_t wall_ns) {
  const Key authority_key(EVP_RSA_gen(k_key_bits)), key(EVP_RSA_gen(k_key_bits));
  if (!authority_key || !key) return openssl_error("key");
  const std::int64_t now_s = wall_ns / 1'000'000'000;
  const long serial = static_cast<long>(wall_ns / 1000 % 1'000'000'000'000);

  const Certificate authority = make_base(fmt::format("localhost-ca@{}", now_s), authority_key.get(), wall_ns, serial);
  const Certificate leaf = make_base(fmt::format("localhost@{}", now_s), key.get(), wall_ns, serial + 1);
  if (!authority || !leaf) return openssl_error("certificate");
  X509_set_issuer_name(authority.get(), X509_get_subject_name(authority.get()));
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(authority.get()));
  const bool good =
      add_extension(authority.get(), authority.get(), NID_basic_constraints, "critical,CA:TRUE") &&
      add_extension(authority.get(), authority.get(), NID_key_usage,
                    "critical,keyCertSign,digitalSignature,keyEncipherment") &&
      add_extension(authority.get(), authority.get(), NID_subject_key_identifier, "hash") &&
      add_extension(leaf.get(), authority.get(), NID_key_usage, "critical,digitalSignature,keyEncipherment") &&
      add_extension(leaf.get(), authority.get(), NID_ext_key_usage, "serverAuth") &&
      add_extension(leaf.get(), authority.get(), NID_authority_key_identifier, "keyid") &&
      add_extension(leaf.get(), authority.get(), NID_subject_alt_name, alternative_names(hosts));
  if (!good) return openssl_error("extensions");
  if (X509_sign(authority.get(), authority_key.get(), EVP_sha256()) == 0 ||
      X509_sign(leaf.get(), authority_key.get(), EVP_sha256()) == 0)
    return openssl_error("signature");
  return KeyPair{pem(leaf.get()) + pem(authority.get()), pem(key.get()), pem(authority.get())};
}

}  // namespace berth::serving
