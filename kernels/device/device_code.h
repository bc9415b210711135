// Marks functions that run on GPUs too, when nvcc compiles them.
#pragma once

#if defined(__CUDACC__)
#define WEIR_DEVICE_CODE __host__ __device__
#else
#define WEIR_DEVICE_CODE
#endif
