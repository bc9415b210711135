// Marks what the shared library exports.
#pragma once

// Versions with the same text have the same binary interface (docs/compatibility.md).
#define WEIR_ABI_VERSION "0.1"

// Before a namespace's name in a public header: libweir.so exports what is declared there, and nothing else.
#define WEIR_API [[gnu::visibility("default")]]
