// Contains only the precompiled headers: see WeirPrecompiled.cmake.
