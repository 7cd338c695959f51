// SQLite's static library calls these two functions, which have new versions in glibc 2.44. No query here uses them, and
// packages should not require that version of glibc just because of them. Compiled into packages only.
#include <cmath>

extern "C" double sinh(double x) { return (std::exp(x) - std::exp(-x)) / 2; }
extern "C" double cosh(double x) { return (std::exp(x) + std::exp(-x)) / 2; }
