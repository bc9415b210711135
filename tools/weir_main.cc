// The weir program.
#include "tools/program.h"

int main(int argc, char** argv) { return weir::RunProgram(argc, argv); }
