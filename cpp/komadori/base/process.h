// The process, to tell one that was forked: it lacks the threads of its parent.
#pragma once

#ifndef _WIN32
#include <unistd.h>
#endif

namespace komadori {

#ifdef _WIN32
inline int process_id() { return 0; }  // no forks there
#else
inline int process_id() { return int(getpid()); }
#endif

}  // namespace komadori
