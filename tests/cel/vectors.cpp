// SPDX-License-Identifier: Apache-2.0
#include "vectors.hpp"

#include <simdjson.h>
#include <zlib.h>

#include <stdexcept>

namespace berth::cel {
namespace {

std::string unpacked(const std::string& path) {
  gzFile file = gzopen(path.c_str(), "rb");
  if (file == nullptr) throw std::runtime_error("cannot open " + path);
  std::string text(4 << 20, '\0');
  const int size = gzread(file, text.data(), static_cast<unsigned>(text.size()));
  gzclose(file);
  if (size <= 0) throw std::runtime_error("cannot unpack " + path);
  text.resize(static_cast<std::size_t>(size));
  return text;
}

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
  throw std::runtime_error("attribute of unknown type: " + std::string(name));
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

}  // namespace

Recording read_recording() {
  simdjson::dom::parser parser;
  const std::string text = unpacked(BERTH_SOURCE_DIR "/tests/cel/vectors.json.gz");
  const Element root = parser.parse(text);
  Recording recording;
  for (const auto device : root["devices"].get_array())
    recording.devices.emplace(text_at(device, "name"), read_device(device));
  for (const auto vector : root["vectors"].get_array()) {
    Vector& read = recording.vectors.emplace_back();
    read.id = text_at(vector, "id");
    read.expression = text_at(vector, "expression");
    read.compiles = text_at(vector, "compile") == "ok";
    simdjson::dom::object results;
    if (vector["results"].get(results) != simdjson::SUCCESS) continue;
    for (const auto result : results) {
      RecordedResult& expected = read.results[std::string(result.key)];
      expected.result = text_at(result.value, "result");
      expected.error = text_at(result.value, "error");
      std::uint64_t cost = 0;
      if (result.value["cost"].get(cost) == simdjson::SUCCESS) expected.cost = cost;
    }
  }
  return recording;
}

}  // namespace berth::cel
