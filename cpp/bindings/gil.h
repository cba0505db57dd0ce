// Compiled code runs without the GIL.
#pragma once

#include <nanobind/nanobind.h>

#include <chrono>
#include <thread>
#include <utility>

namespace komadori {

// Releases the GIL, as nb::gil_scoped_release does, also in threads that outlive the interpreter.
//
// A daemon thread that returns from compiled code while the interpreter ends never gets the GIL:
// before Python 3.14 PyEval_RestoreThread ends the thread instead. With glibc that unwinds the
// stack, and the process aborts where the unwinding reaches a function that may not throw, such as
// a destructor. Here the thread sleeps until the process has ended, as Python 3.14 has it do.
class ReleaseGil {
  public:
    ReleaseGil() : state_(PyEval_SaveThread()) {}
    ~ReleaseGil() {
        try {
            PyEval_RestoreThread(state_);
        } catch (...) {  // the unwinding of pthread_exit; leaving this block would abort, too
            for (;;) std::this_thread::sleep_for(std::chrono::hours(1));
        }
    }
    ReleaseGil(const ReleaseGil&) = delete;
    ReleaseGil& operator=(const ReleaseGil&) = delete;

  private:
    PyThreadState* state_;
};

// Calls f without the GIL with copies of the arguments, which other threads of Python may change
// meanwhile.
template <class F, class... Args>
decltype(auto) without_gil(F&& f, Args... copies) {
    const ReleaseGil release;
    return std::forward<F>(f)(copies...);
}

}  // namespace komadori
