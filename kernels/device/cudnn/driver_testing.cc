// A driver of CUDA's that knows no device, and takes code for one without looking at it: cuDNN generates the code of
// attention when it makes a plan, and has the driver load it. A test that loads this library before cuDNN asks for
// libcuda.so.1, which is its name, can make plans on any machine, and run none.
extern "C" {

int cuInit(unsigned) { return 100; }  // CUDA_ERROR_NO_DEVICE
int cuDriverGetVersion(int* version) {
  *version = 13000;
  return 0;
}
int cuDeviceGetCount(int* count) {
  *count = 0;
  return 100;
}
int cuGetErrorString(int, const char** text) {
  *text = "no device";
  return 0;
}
int cuGetErrorName(int, const char** text) {
  *text = "CUDA_ERROR_NO_DEVICE";
  return 0;
}

static char loaded;
int cuLibraryLoadData(void** library, const void*, void*, void*, unsigned, void*, void*, unsigned) {
  *library = &loaded;
  return 0;
}
int cuLibraryGetKernel(void** kernel, void*, const char*) {
  *kernel = &loaded;
  return 0;
}
int cuLibraryUnload(void*) { return 0; }

// What is looked for, and not called as long as nothing runs.
#define NEVER_CALLED(name) \
  int name() { return 100; }
NEVER_CALLED(cuCtxGetCurrent)
NEVER_CALLED(cuCtxGetLimit)
NEVER_CALLED(cuCtxPopCurrent)
NEVER_CALLED(cuCtxPushCurrent)
NEVER_CALLED(cuStreamGetCtx)
NEVER_CALLED(cuLinkCreate)
NEVER_CALLED(cuLinkAddData)
NEVER_CALLED(cuLinkComplete)
NEVER_CALLED(cuLinkDestroy)
NEVER_CALLED(cuLaunchKernel)
NEVER_CALLED(cuLaunchCooperativeKernel)
NEVER_CALLED(cuDeviceGet)
NEVER_CALLED(cuLibraryLoadFromFile)
NEVER_CALLED(cuKernelSetAttribute)
NEVER_CALLED(cuKernelGetAttribute)
NEVER_CALLED(cuOccupancyMaxPotentialClusterSize)
NEVER_CALLED(cuLaunchKernelEx)
#undef NEVER_CALLED
}
