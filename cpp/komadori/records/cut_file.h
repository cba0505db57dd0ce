// Files that are cut while they are mapped: a message instead of a bus error.
#pragma once

namespace komadori {

// From now on, an access behind the new end of a mapped file, or to one that can't be read any
// more, prints a line that names the file (on Linux) and ends the process with status 1. Changes
// nothing where the signal has another handler, and on Windows, which lets nobody cut a mapped
// file.
void report_cut_files();

}  // namespace komadori
