// SPDX-License-Identifier: Apache-2.0
#include "support/test_authority.hpp"

#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/check.hpp"

namespace berth::tests {
namespace {

struct Freed {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* memory) const { BIO_free_all(memory); }
};
using Key = std::unique_ptr<EVP_PKEY, Freed>;
using Certificate = std::unique_ptr<X509, Freed>;
constexpr long k_day_s = 86'400;

std::string pem_of(BIO* memory) {
  char* text = nullptr;
  const long length = BIO_get_mem_data(memory, &text);
  return {text, static_cast<std::size_t>(length)};
}

std::string pem_of(X509* certificate) {
  const std::unique_ptr<BIO, Freed> memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  return pem_of(memory.get());
}

void add_extension(X509* certificate, X509* issuer, int nid, const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  X509_EXTENSION* const extension = X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str());
  BERTH_CHECK(extension != nullptr, "extension {}", value);
  X509_add_ext(certificate, extension, -1);
  X509_EXTENSION_free(extension);
}

Certificate make(EVP_PKEY* key, const std::string& common_name, const std::vector<std::string>& organizations,
                 long from_s, long to_s) {
  static long serial = 1;
  Certificate out(X509_new());
  X509_set_version(out.get(), 2);
  ASN1_INTEGER_set(X509_get_serialNumber(out.get()), ++serial);
  X509_gmtime_adj(X509_getm_notBefore(out.get()), from_s);
  X509_gmtime_adj(X509_getm_notAfter(out.get()), to_s);
  X509_set_pubkey(out.get(), key);
  X509_NAME* const subject = X509_get_subject_name(out.get());
  const auto add = [&](const char* field, const std::string& value) {
    X509_NAME_add_entry_by_txt(subject, field, MBSTRING_UTF8, reinterpret_cast<const unsigned char*>(value.c_str()), -1,
                               -1, 0);
  };
  for (const std::string& organization : organizations) add("O", organization);
  add("CN", common_name);
  return out;
}

}  // namespace

struct TestAuthority::State {
  Key key{EVP_EC_gen("P-256")};
  Certificate certificate;
};

TestAuthority::TestAuthority(const std::string& name) : state_(std::make_unique<State>()) {
  state_->certificate = make(state_->key.get(), name, {}, -k_day_s, k_day_s);
  X509* const own = state_->certificate.get();
  X509_set_issuer_name(own, X509_get_subject_name(own));
  add_extension(own, own, NID_basic_constraints, "critical,CA:TRUE");
  add_extension(own, own, NID_key_usage, "critical,keyCertSign,digitalSignature");
  BERTH_CHECK(X509_sign(own, state_->key.get(), EVP_sha256()) != 0, "cannot sign");
  pem_ = pem_of(own);
}

TestAuthority::~TestAuthority() = default;

SignedPair TestAuthority::sign(const std::string& common_name, const std::vector<std::string>& organizations,
                               const std::string& usage, int days) const {
  const Key key(EVP_EC_gen("P-256"));
  const long end_s = days * k_day_s;
  const Certificate leaf = make(key.get(), common_name, organizations, std::min(-k_day_s, 2 * end_s), end_s);
  X509_set_issuer_name(leaf.get(), X509_get_subject_name(state_->certificate.get()));
  add_extension(leaf.get(), state_->certificate.get(), NID_key_usage, "critical,digitalSignature");
  add_extension(leaf.get(), state_->certificate.get(), NID_ext_key_usage, usage);
  if (usage == "serverAuth") {
    const bool is_address = common_name.find_first_not_of("0123456789.") == std::string::npos;
    add_extension(leaf.get(), state_->certificate.get(), NID_subject_alt_name,
                  is_address ? "DNS:localhost,IP:" + common_name : "DNS:" + common_name);
  }
  BERTH_CHECK(X509_sign(leaf.get(), state_->key.get(), EVP_sha256()) != 0, "cannot sign");
  const std::unique_ptr<BIO, Freed> memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_PrivateKey(memory.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr);
  return {pem_of(leaf.get()), pem_of(memory.get())};
}

}  // namespace berth::tests
