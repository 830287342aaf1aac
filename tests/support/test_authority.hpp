// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <memory>
#include <string>
#include <vector>

namespace berth::tests {

/// A certificate and its key, as PEM.
struct SignedPair {
  std::string certificate, key;
};

/// Signs certificates for tests. Everything is valid for a day from now.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate() const noexcept { return pem_; }
  /// `usage`: "clientAuth", or "serverAuth", of a host called `common_name`. `days` may be negative: expired then.
  SignedPair sign(const std::string& common_name, const std::vector<std::string>& organizations = {},
                  const std::string& usage = "clientAuth", int days = 1) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
  std::string pem_;
};

}  // namespace berth::tests
