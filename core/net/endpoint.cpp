// SPDX-License-Identifier: Apache-2.0
#include "net/endpoint.hpp"

#include <iterator>

#include "base/guarded.hpp"
#include "base/read_file.hpp"
#include "net/dialer.hpp"
#include "net/proxy.hpp"
#include "net/tls.hpp"
#include "observe/log.hpp"

namespace berth::net {
namespace {

constexpr std::int64_t k_recheck_ns = 60'000'000'000;

struct Material {
  std::string authority, certificate, key;
  std::string joined() const { return authority + '\0' + certificate + '\0' + key; }
};

Status read_pem(const PemSource& source, std::string_view what, std::string& out) {
  if (!source.data.empty() || source.file.empty()) {
    out = source.data;
    return Unit{};
  }
  Result<std::string> read = read_file_bytes(source.file);
  if (!read.ok()) return Error{fmt::format("{} {} cannot be read: {}", what, source.file, read.error().message)};
  out = std::move(*read);
  return Unit{};
}

Result<Material> read_material(const TlsOptions& options, const Identity& identity) {
  Material out;
  for (const Status& status : {read_pem(options.authority, "certificate authority", out.authority),
                               read_pem(identity.certificate, "client certificate", out.certificate),
                               read_pem(identity.key, "client key", out.key)})
    if (!status.ok()) return status.error();
  return out;
}

Result<std::shared_ptr<Endpoint::Tls>> make_tls(const TlsOptions& options, const Material& material) {
  auto tls = std::make_shared<Endpoint::Tls>();
  asio::ssl::context& context = tls->context;
  boost::system::error_code error;
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  // A server that closes without a close_notify has closed all the same; HTTP knows whether a message is whole.
  SSL_CTX_set_options(context.native_handle(), SSL_OP_IGNORE_UNEXPECTED_EOF | SSL_OP_NO_RENEGOTIATION);
  if (options.insecure) {
    context.set_verify_mode(asio::ssl::verify_none, error);
  } else {
    context.set_verify_mode(asio::ssl::verify_peer, error);
    // Not where a file is named that is just being written: that is no reason to trust whom the system trusts.
    if (options.authority.empty())
      context.set_default_verify_paths(error);
    else
      context.add_certificate_authority(asio::buffer(material.authority), error);
    if (error) return Error{"the certificate authority cannot be used: " + error.message()};
  }
  if (!material.certificate.empty()) {
    context.use_certificate_chain(asio::buffer(material.certificate), error);
    if (error) return Error{"the client certificate cannot be used: " + error.message()};
    context.use_private_key(asio::buffer(material.key), asio::ssl::context::pem, error);
    if (error) return Error{"the client key cannot be used: " + error.message()};
  }
  return tls;
}

}  // namespace

Endpoint::Endpoint(EndpointOptions options, std::unique_ptr<Authorizer> authorizer, const Clock& clock)
    : options_(std::move(options)),
      clock_(clock),
      authorizer_(std::move(authorizer)),
      addresses_(std::make_shared<Addresses>(options_.proxy ? *options_.proxy : options_.server)) {}

Endpoint::~Endpoint() = default;

Result<std::shared_ptr<Endpoint>> Endpoint::make(EndpointOptions options, std::unique_ptr<Authorizer> authorizer,
                                                 const Clock& clock, const Environment& environment) {
  if (!options.proxy) {
    Result<std::optional<Url>> found = proxy_for(options.server, environment);
    if (!found.ok()) return found.error();
    options.proxy = std::move(*found);
  }
  std::shared_ptr<Endpoint> endpoint(new Endpoint(std::move(options), std::move(authorizer), clock));
  // Files that are wrong are said at the start; a command is only run when the first request needs it.
  if (!endpoint->authorizer_->runs_command()) {
    Result<Identity> identity = endpoint->authorizer_->current();
    if (!identity.ok()) return identity.error();
    if (const auto tls = endpoint->tls(*identity); !tls.ok()) return tls.error();
  }
  return endpoint;
}

Result<Endpoint::Current> Endpoint::tls(const Identity& identity) {
  if (!options_.server.secure() && !(options_.proxy && options_.proxy->secure())) return Current{};
  const Lock lock(mutex_);
  const std::int64_t now = clock_.monotonic_ns();
  const bool known = current_.tls != nullptr;
  if (known && identity.generation == 0 && now - checked_ns_ < k_recheck_ns) return current_;
  Result<Material> material = read_material(options_.tls, identity);
  checked_ns_ = now;
  if (material.ok() && known && material->joined() == material_) return current_;
  Result<std::shared_ptr<Tls>> made =
      material.ok() ? make_tls(options_.tls, *material) : Result<std::shared_ptr<Tls>>(material.error());
  if (!made.ok()) {
    if (!known) return made.error();
    observe::error("The TLS material from before is kept", {{"err", made.error().message}});
    return current_;
  }
  current_ = {std::move(*made), current_.epoch + 1};
  material_ = material->joined();
  return current_;
}

}  // namespace berth::net
