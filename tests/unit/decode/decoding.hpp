// SPDX-License-Identifier: Apache-2.0
#pragma once
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>

#include "decode/object_decoder.hpp"
#include "text/parse.hpp"

namespace berth::decode {

/// Decodes YAML in one line: `decoding.pod("{metadata: {name: a}, spec: …}")`. apiVersion and kind are filled in.
struct Decoding {
  SymbolTable symbols;
  DecodeOptions options;
  text::Diagnostics problems;

  std::optional<Decoded> object(std::string_view yaml, TypeHint hint = {}) {
    const auto documents = text::parse(yaml, "f.yaml", problems);
    if (documents.size() != 1) {
      ADD_FAILURE() << problems.render();
      return std::nullopt;
    }
    return ObjectDecoder(symbols, options).decode(documents[0], documents[0].root(), problems, hint);
  }
  /// Null, with problems, when it does not decode.
  model::PodPtr try_pod(std::string_view yaml) {
    const auto decoded = object(yaml, {"v1", "Pod"});
    return decoded ? std::get<model::PodPtr>(*decoded) : nullptr;
  }
  model::PodPtr pod(std::string_view yaml) {
    auto pod = try_pod(yaml);
    EXPECT_NE(pod, nullptr) << yaml << "\n" << problems.render();
    return pod == nullptr ? std::make_shared<model::Pod>() : pod;
  }
  /// A pod with a uid, one container and this spec besides.
  model::PodPtr with_spec(std::string_view spec, std::string_view metadata = "") {
    return pod("{metadata: {name: p, namespace: ns, uid: u" + std::string(metadata.empty() ? "" : ", ") +
               std::string(metadata) + "}, spec: {containers: [{name: c}], " + std::string(spec) + "}}");
  }
  model::NodePtr node(std::string_view yaml) {
    const auto decoded = object(yaml, {"v1", "Node"});
    EXPECT_TRUE(decoded.has_value()) << yaml << "\n" << problems.render();
    return decoded ? std::get<model::NodePtr>(*decoded) : std::make_shared<model::Node>();
  }
  Symbol operator()(std::string_view text) { return symbols.intern(text); }
};

}  // namespace berth::decode
