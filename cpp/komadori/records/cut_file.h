// Files that are cut while they are mapped: a message instead of a bus error.
#pragma once

namespace komadori {

// From now on, an access beyond the new end of a mapped file, or to one that can no longer be
// read, prints a line that names the file (on Linux) and ends the process with status 1. Does
// nothing where the signal has another handler, nor on Windows, which doesn't let mapped files be
// cut.
void report_cut_files();

}  // namespace komadori
