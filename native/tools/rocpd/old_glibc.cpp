// SQLite's archive calls these two functions, for which glibc 2.44 has new versions. No query here uses them, and a package
// should not need that glibc for them. Compiled into packages only.
#include <cmath>

extern "C" double sinh(double x) { return (std::exp(x) - std::exp(-x)) / 2; }
extern "C" double cosh(double x) { return (std::exp(x) + std::exp(-x)) / 2; }
