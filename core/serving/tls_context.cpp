// SPDX-License-Identifier: Apache-2.0
#include "serving/tls_context.hpp"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <array>
#include <boost/asio/buffer.hpp>

#include "base/utf8.hpp"
#include "observe/log.hpp"
#include "serving/openssl_handles.hpp"

namespace berth::serving {
namespace {

namespace asio = boost::asio;
constexpr long k_peer_chain_bytes_max = 64 << 10;
constexpr std::string_view k_http_11{"\x08http/1.1"};  // as ALPN writes it

Result<int> version_of(const std::string& name) {
  if (name.empty() || name == "VersionTLS12") return TLS1_2_VERSION;
  if (name == "VersionTLS13") return TLS1_3_VERSION;
  if (name == "VersionTLS11") return TLS1_1_VERSION;
  if (name == "VersionTLS10") return TLS1_VERSION;
  return Error{fmt::format("\"{}\" is no TLS version (VersionTLS10 to VersionTLS13)", name)};
}

struct Curve {
  int number;
  const char* name;
};
constexpr std::array k_curves = std::to_array<Curve>({{23, "P-256"},
                                                      {24, "P-384"},
                                                      {25, "P-521"},
                                                      {29, "X25519"},
                                                      {4587, "SecP256r1MLKEM768"},
                                                      {4588, "X25519MLKEM768"},
                                                      {4589, "SecP384r1MLKEM1024"}});

std::string names_of_curves() {
  std::string out;
  for (const Curve& curve : k_curves) out += fmt::format("{}{}: {}", out.empty() ? "" : ", ", curve.number, curve.name);
  return out;
}

Status restrict_curves(SSL_CTX* context, const std::vector<int>& curves) {
  std::string groups;
  for (const int number : curves) {
    const auto known =
        std::find_if(k_curves.begin(), k_curves.end(), [number](const Curve& curve) { return curve.number == number; });
    if (known == k_curves.end())
      return Error{fmt::format("curve {} is not known here ({})", number, names_of_curves())};
    if (SSL_CTX_set1_groups_list(context, known->name) == 1)
      groups += (groups.empty() ? "" : ":") + std::string(known->name);
    else
      observe::warning("This OpenSSL lacks a curve, others are offered", {{"curve", number}, {"name", known->name}});
  }
  // The trials above left their mark, so that something has to be chosen even when none of them could be had.
  if (groups.empty()) groups = "X25519:P-256:P-384:P-521";
  if (SSL_CTX_set1_groups_list(context, groups.c_str()) != 1)
    return Error{fmt::format("the curves {} cannot be used", groups)};
  return Unit{};
}

Status restrict_tls(SSL_CTX* context, const HttpsServerOptions& options) {
  const Result<int> version = version_of(options.min_version);
  if (!version.ok()) return version.error();
  SSL_CTX_set_min_proto_version(context, *version);
  std::string ciphers;
  for (const std::string& name : options.cipher_suites) {
    const std::string_view known = OPENSSL_cipher_name(name.c_str());
    if (known == "(NONE)") return Error{fmt::format("\"{}\" is no cipher suite", name)};
    // Those of TLS 1.3 cannot be chosen, as upstream.
    if (!known.starts_with("TLS_")) ciphers += (ciphers.empty() ? "" : ":") + std::string(known);
  }
  if (!ciphers.empty() && SSL_CTX_set_cipher_list(context, ciphers.c_str()) != 1)
    return Error{fmt::format("none of the cipher suites {} can be used", ciphers)};
  return options.curves.empty() ? Status(Unit{}) : restrict_curves(context, options.curves);
}

int choose_protocol(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* offered,
                    unsigned int offered_size, void*) {
  const auto* const ours = reinterpret_cast<const unsigned char*>(k_http_11.data());
  unsigned char* chosen = nullptr;
  if (SSL_select_next_proto(&chosen, out_size, ours, static_cast<unsigned int>(k_http_11.size()), offered,
                            offered_size) != OPENSSL_NPN_NEGOTIATED)
    return SSL_TLSEXT_ERR_ALERT_FATAL;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

Result<ServedTls::Context> make_context(const KeyPair& keys, const HttpsServerOptions& options) {
  auto tls = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  boost::system::error_code error;
  tls->use_certificate_chain(asio::buffer(keys.certificate), error);
  if (error) return Error{"the serving certificate cannot be used: " + error.message()};
  tls->use_private_key(asio::buffer(keys.key), asio::ssl::context::pem, error);
  if (error) return Error{"the serving key cannot be used: " + error.message()};
  SSL_CTX* const context = tls->native_handle();
  if (const Status good = restrict_tls(context, options); !good.ok()) return good.error();
  SSL_CTX_set_alpn_select_cb(context, choose_protocol, nullptr);
  // Any certificate is let in, and none is looked at here: OpenSSL would go up the whole chain, whose keys a stranger may
  // choose so that each signature takes long to judge. Who the caller is, verify_peer() says.
  SSL_CTX_set_verify(context, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_cert_verify_callback(
      context, [](X509_STORE_CTX*, void*) { return 1; }, nullptr);
  // A resumed session would bring no certificate.
  SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_options(context, SSL_OP_NO_TICKET | SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_max_cert_list(context, k_peer_chain_bytes_max);
  SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);  // callers are silent most of the time
  return tls;
}

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(ASN1_STRING_length(text))};
}

/// The common name and the DNS names of the first certificate.
std::vector<std::string> names_of(const std::string& pem) {
  std::vector<std::string> out;
  const Memory memory(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  const Certificate leaf(PEM_read_bio_X509(memory.get(), nullptr, nullptr, nullptr));
  if (!leaf) return out;
  X509_NAME* const subject = X509_get_subject_name(leaf.get());
  if (const int at = X509_NAME_get_index_by_NID(subject, NID_commonName, -1); at >= 0)
    out.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(subject, at))));
  const std::unique_ptr<GENERAL_NAMES, Freed<GENERAL_NAMES_free>> others(
      static_cast<GENERAL_NAMES*>(X509_get_ext_d2i(leaf.get(), NID_subject_alt_name, nullptr, nullptr)));
  for (int i = 0; others && i < sk_GENERAL_NAME_num(others.get()); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(others.get(), i);
    if (name->type == GEN_DNS) out.push_back(text_of(name->d.dNSName));
  }
  return out;
}

/// OpenSSL calls this once it knows the name that is asked for.
int choose_certificate(SSL* connection, int*, void* served) {
  const char* const asked = SSL_get_servername(connection, TLSEXT_NAMETYPE_host_name);
  if (asked == nullptr) return SSL_TLSEXT_ERR_NOACK;
  const auto& by_name = static_cast<const ServedTls*>(served)->by_name;
  const std::string name = lower_case(asked);
  auto found = by_name.find(name);
  if (found == by_name.end())
    if (const std::size_t dot = name.find('.'); dot != std::string::npos) found = by_name.find("*" + name.substr(dot));
  if (found != by_name.end()) SSL_set_SSL_CTX(connection, found->second->native_handle());
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<std::shared_ptr<ServedTls>> make_tls(const ServingKeys& keys, const HttpsServerOptions& options) {
  auto out = std::make_shared<ServedTls>();
  Result<ServedTls::Context> any = make_context(keys.any, options);
  if (!any.ok()) return any.error();
  out->any = std::move(*any);
  for (const NamedKeys& named : keys.named) {
    Result<ServedTls::Context> made = make_context(named.keys, options);
    if (!made.ok()) return made.error();
    // Of two certificates for one name, the first is served.
    for (const std::string& pattern : named.patterns.empty() ? names_of(named.keys.certificate) : named.patterns)
      out->by_name.try_emplace(lower_case(pattern), *made);
  }
  SSL_CTX_set_tlsext_servername_callback(out->any->native_handle(), choose_certificate);
  SSL_CTX_set_tlsext_servername_arg(out->any->native_handle(), out.get());
  return out;
}

}  // namespace berth::serving
