#pragma once

// WEIR_TARGET_CLONES before a function compiles it twice, for the build's baseline and for AVX-512, and the loader
// picks one by the CPU that it finds. For plain loops over raw pointers: calls that are not inlined stay at the
// baseline, and no Eigen type may appear (its alignment would differ between the two).
//
// Nothing in sanitizer builds: the loader picks before the sanitizer's runtime is ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__AVX512VL__) && \
    !defined(WEIR_SANITIZER_BUILD)
#define WEIR_TARGET_CLONES __attribute__((target_clones("arch=x86-64-v4", "default")))
#else
#define WEIR_TARGET_CLONES
#endif
