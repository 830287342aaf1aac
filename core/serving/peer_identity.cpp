// SPDX-License-Identifier: Apache-2.0
#include "serving/peer_identity.hpp"

#include <openssl/err.h>
#include <openssl/pem.h>
#include <spdlog/fmt/fmt.h>

#include <algorithm>

#include "serving/openssl_handles.hpp"

namespace berth::serving {
namespace {

using Store = std::unique_ptr<X509_STORE, Freed<X509_STORE_free>>;
using StoreContext = std::unique_ptr<X509_STORE_CTX, Freed<X509_STORE_CTX_free>>;

constexpr int k_presented_max = 16;  // certificates of a caller; what leads to an authority has a few

std::vector<Certificate> read_certificates(std::string_view pem) {
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::vector<Certificate> out;
  while (X509* const certificate = PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr))
    out.emplace_back(certificate);
  ERR_clear_error();  // that of the end
  return out;
}

std::vector<std::string> entries(const X509& certificate, int nid) {
  const X509_NAME* const subject = X509_get_subject_name(&certificate);
  std::vector<std::string> out;
  for (int at = X509_NAME_get_index_by_NID(subject, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(subject, nid, at)) {
    unsigned char* text = nullptr;
    const int length = ASN1_STRING_to_UTF8(&text, X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at)));
    if (length < 0) continue;
    out.emplace_back(reinterpret_cast<const char*>(text), static_cast<std::size_t>(length));
    OPENSSL_free(text);
  }
  return out;
}

std::string pem_of(X509* certificate) {
  const Memory memory(BIO_new(BIO_s_mem()));
  PEM_write_bio_X509(memory.get(), certificate);
  char* text = nullptr;
  const long length = BIO_get_mem_data(memory.get(), &text);
  return length > 0 ? std::string(text, static_cast<std::size_t>(length)) : std::string();
}

}  // namespace

bool has_certificate(std::string_view pem) { return !read_certificates(pem).empty(); }

std::string peer_chain_of(SSL* connection) {
  const Certificate own(SSL_get1_peer_certificate(connection));
  if (!own) return {};
  std::string out = pem_of(own.get());
  const STACK_OF(X509)* const others = SSL_get_peer_cert_chain(connection);
  for (int i = 0; others != nullptr && i < std::min(sk_X509_num(others), k_presented_max); ++i)
    out += pem_of(sk_X509_value(others, i));
  return out;
}

Result<PeerIdentity> verify_peer(std::string_view chain, std::string_view authorities) {
  const std::vector<Certificate> presented = read_certificates(chain);
  if (presented.empty()) return Error{"no certificate was presented"};
  const Store store(X509_STORE_new());
  const StoreContext context(X509_STORE_CTX_new());
  STACK_OF(X509)* const between = sk_X509_new_null();
  const std::unique_ptr<STACK_OF(X509), void (*)(STACK_OF(X509)*)> owner(between,
                                                                         [](STACK_OF(X509) * s) { sk_X509_free(s); });
  if (!store || !context || between == nullptr) return Error{"out of memory"};
  for (const Certificate& authority : read_certificates(authorities)) X509_STORE_add_cert(store.get(), authority.get());
  for (std::size_t i = 1; i < presented.size(); ++i) sk_X509_push(between, presented[i].get());
  if (X509_STORE_CTX_init(context.get(), store.get(), presented.front().get(), between) != 1)
    return Error{"the certificate cannot be judged"};
  X509_STORE_CTX_set_purpose(context.get(), X509_PURPOSE_SSL_CLIENT);
  X509_VERIFY_PARAM_set_flags(X509_STORE_CTX_get0_param(context.get()), X509_V_FLAG_PARTIAL_CHAIN);
  if (X509_verify_cert(context.get()) != 1)
    return Error{fmt::format("the client certificate is refused: {}",
                             X509_verify_cert_error_string(X509_STORE_CTX_get_error(context.get())))};
  PeerIdentity out;
  const std::vector<std::string> names = entries(*presented.front(), NID_commonName);
  if (!names.empty()) out.common_name = names.front();
  out.organizations = entries(*presented.front(), NID_organizationName);
  return out;
}

}  // namespace berth::serving
