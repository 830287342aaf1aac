// SPDX-License-Identifier: Apache-2.0
#pragma once

/// BERTH_HOST_VECTOR_CLONES before a function that is one loop over columns: compiled for the baseline and for AVX2,
/// chosen by the CPU at start-up. Without fused multiply-add, so both give the same numbers. The SDK has its own for
/// plugins. Nothing under sanitizers (their runtime is not up yet when the choice is made), for Clang, and on other
/// architectures.
#if defined(__x86_64__) && defined(__gnu_linux__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define BERTH_HOST_VECTOR_CLONES __attribute__((target_clones("default", "avx2", "arch=x86-64-v4")))
#else
#define BERTH_HOST_VECTOR_CLONES
#endif
