// SPDX-License-Identifier: Apache-2.0
#include "vectors.hpp"

#include <simdjson.h>

#include <stdexcept>

#include "support/packed_file.hpp"

namespace berth::cel {
namespace {

using Element = simdjson::dom::element;

std::string text_at(const Element& object, std::string_view name) {
  std::string_view text;
  return object[name].get(text) == simdjson::SUCCESS ? std::string(text) : std::string();
}

Attribute read_attribute(std::string_view name, const Element& value) {
  std::string_view text;
  std::int64_t integer = 0;
  bool boolean = false;
  if (value["int"].get(integer) == simdjson::SUCCESS) return Attribute::of_integer(name, integer);
  if (value["bool"].get(boolean) == simdjson::SUCCESS) return Attribute::of_boolean(name, boolean);
  if (value["string"].get(text) == simdjson::SUCCESS) return Attribute::of_string(name, text);
  if (value["version"].get(text) == simdjson::SUCCESS) return Attribute::of_version(name, text);
  return {name, Attribute::Type::unsupported, 0, {}};  // a list
}

Device read_device(const Element& device) {
  std::vector<Attribute> attributes;
  std::vector<Capacity> capacity;
  simdjson::dom::object entries;
  if (device["attributes"].get(entries) == simdjson::SUCCESS)
    for (const auto entry : entries) attributes.push_back(read_attribute(entry.key, entry.value));
  if (device["capacity"].get(entries) == simdjson::SUCCESS)
    for (const auto entry : entries) capacity.push_back({entry.key, entry.value["value"].get_string()});
  bool multiple = false;
  if (device["allowMultipleAllocations"].get(multiple) != simdjson::SUCCESS) multiple = false;
  return {text_at(device, "driver"), multiple, attributes, capacity};
}

Recording read(const Element& root) {
  Recording recording;
  for (const auto device : root["devices"].get_array())
    recording.devices.emplace(text_at(device, "name"), read_device(device));
  for (const auto vector : root["vectors"].get_array()) {
    Vector& read = recording.vectors.emplace_back();
    read.id = text_at(vector, "id");
    read.expression = vector["expression"].get_string().value();
    const std::string compile = text_at(vector, "compile");
    if (compile != "ok" && compile != "error") throw std::runtime_error(read.id + ": compile is neither ok nor error");
    read.compiles = compile == "ok";
    simdjson::dom::object results;
    if (vector["results"].get(results) != simdjson::SUCCESS) continue;
    for (const auto result : results) {
      const std::string device(result.key);
      if (!recording.devices.contains(device)) throw std::runtime_error(read.id + ": there is no device " + device);
      RecordedResult& expected = read.results[device];
      expected.result = text_at(result.value, "result");
      expected.error = text_at(result.value, "error");
      std::uint64_t cost = 0;
      if (result.value["cost"].get(cost) == simdjson::SUCCESS) expected.cost = cost;
    }
  }
  return recording;
}

std::string word_of(Verdict verdict) {
  return verdict == Verdict::yes ? "true" : verdict == Verdict::no ? "false" : "error";
}

}  // namespace

Recording read_recording(const std::string& path) {
  const std::string text = tests::read_packed_file(path);
  try {
    simdjson::dom::parser parser;
    return read(parser.parse(text));
  } catch (const std::exception& e) {
    throw std::runtime_error(path + ": " + e.what());
  }
}

Comparison compare_with_recording(const Recording& recording, const Vector& vector, Evaluator& evaluator) {
  Comparison made;
  const Compiled compiled = Program::compile(vector.expression);
  made.results = vector.results.size();
  if ((compiled.program != nullptr) != vector.compiles) {
    made.differs = vector.compiles ? "does not compile: " + compiled.error.text() : "compiles";
    return made;
  }
  if (compiled.program == nullptr) return made;
  for (const auto& result : vector.results) {
    // Not a structured binding: Clang 14 does not capture those in lambdas.
    const auto& device = result.first;
    const auto& expected = result.second;
    const Outcome outcome = evaluator.evaluate(*compiled.program, recording.devices.at(device));
    const std::string is = word_of(outcome.verdict);
    if (is != expected.result) {
      made.differs += (made.differs.empty() ? "" : "; ") + device + ": " + is;
      if (!outcome.error.empty()) made.differs += " (" + std::string(outcome.error) + ')';
      made.differs += ", recorded " + expected.result;
      if (!expected.error.empty()) made.differs += " (" + expected.error + ')';
      continue;
    }
    ++made.same_results;
    const auto note = [&](const std::string& what, const std::string& ours, const std::string& theirs) {
      made.other += (made.other.empty() ? "" : "; ") + device + ": " + what + ' ' + ours + ", recorded " + theirs;
    };
    if (expected.cost) {
      ++made.costs;
      made.same_costs += outcome.cost == *expected.cost;
      if (outcome.cost != *expected.cost) note("cost", std::to_string(outcome.cost), std::to_string(*expected.cost));
    }
    if (!expected.error.empty()) {
      ++made.errors;
      made.same_errors += outcome.error == expected.error;
      if (outcome.error != expected.error) note("error", std::string(outcome.error), expected.error);
    }
  }
  return made;
}

}  // namespace berth::cel
