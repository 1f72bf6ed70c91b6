#pragma once
#include <cstddef>

namespace adocd::rebind {

// Makes the process call our replacements of librocksdb's functions as if our library had been preloaded: the dynamic
// linker binds each call, and each entry of a virtual table, to a function by name, and these bindings are redone here
// in every object that is loaded. A write of a binding is one word, so a running thread calls either the old function or
// ours. Returns how many bindings there are; Undo puts the old ones back.
//
// Not reached: calls of a program that keeps a function's address of its own, and objects that are loaded later.
size_t Do();
void Undo();

}  // namespace adocd::rebind
