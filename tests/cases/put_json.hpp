// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>

#include "app/simulate/simulation.hpp"
#include "decode/object_decoder.hpp"
#include "text/parse.hpp"

namespace berth::cases {

/// Decodes what the simulation watches, with defaults.
inline decode::DecodeOptions watched_by(app::Simulation& simulation) {
  decode::DecodeOptions options;
  options.defaulting = std::make_shared<decode::Defaulting>();
  options.watched = simulation.scheduler().views().objects.resources();
  return options;
}

/// Decodes one object and puts it into the cluster; what is wrong with it fails the test.
inline void put_json(app::Simulation& simulation, SymbolTable& symbols, const decode::DecodeOptions& options,
                     const std::string& json) {
  text::Diagnostics problems;
  const auto documents = text::parse_json(json, "generated", problems);
  ASSERT_TRUE(problems.empty()) << problems.render() << json;
  const auto decoded =
      decode::ObjectDecoder(symbols, options).decode(documents.at(0), documents.at(0).root(), problems);
  ASSERT_TRUE(problems.empty() && decoded) << problems.render() << json;
  simulation.cluster().put(*decoded);
}

}  // namespace berth::cases
