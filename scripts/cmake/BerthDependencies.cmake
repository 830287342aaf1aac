# SPDX-License-Identifier: Apache-2.0
# Libraries from Debian 12. README.md says why each is here.
include_guard(GLOBAL)
find_package(Threads REQUIRED)
find_package(Boost 1.81 REQUIRED)
find_package(yaml-cpp REQUIRED)
find_package(spdlog REQUIRED)
find_package(CLI11 REQUIRED)
find_package(simdjson REQUIRED)
find_package(GTest REQUIRED)
find_package(benchmark REQUIRED)
find_package(prometheus-cpp REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(ZLIB REQUIRED)
find_path(BERTH_RE2_INCLUDE re2/re2.h REQUIRED)                      # linked as -lre2
find_path(BERTH_PROTOZERO_INCLUDE protozero/version.hpp REQUIRED)  # headers only
find_path(BERTH_SECCOMP_INCLUDE seccomp.h REQUIRED)
find_library(BERTH_SECCOMP_LIBRARY seccomp REQUIRED)
