// SPDX-License-Identifier: Apache-2.0
/// Decodes arbitrary text as Kubernetes objects, as a file of a cluster would be. Whatever is wrong with it must be a
/// problem with a place, and every object that was refused must have one.
#include <cstdint>
#include <cstdlib>
#include <memory>

#include "decode/object_decoder.hpp"
#include "text/parse.hpp"

namespace {

void decode_all(const berth::decode::ObjectDecoder& decoder, const berth::text::Document& document,
                const berth::text::Value& value) {
  if (value.find("items") != nullptr) {
    for (const auto& item : value.find("items")->elements()) decode_all(decoder, document, item);
    return;
  }
  berth::text::Diagnostics problems;
  const auto decoded = decoder.decode(document, value, problems);
  if (decoded && !problems.empty()) std::abort();
  for (const auto& problem : problems.all()) {
    if (problem.message.empty() || problem.file != "input") std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  berth::SymbolTable symbols;
  berth::decode::DecodeOptions options;
  options.keeps_pod_body = [](const berth::model::Pod&) { return true; };
  options.defaulting = std::make_shared<const berth::decode::Defaulting>();
  const berth::decode::ObjectDecoder decoder(symbols, std::move(options));
  berth::text::Diagnostics problems;
  const auto documents = berth::text::parse({reinterpret_cast<const char*>(data), size}, "input", problems);
  for (const auto& document : documents) decode_all(decoder, document, document.root());
  return 0;
}
