#include "komadori/records/cut_file.h"

#ifdef _WIN32

namespace komadori {

void report_cut_files() {}

}  // namespace komadori

#else

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>

namespace komadori {
namespace {

// Only functions that a signal handler may call are used here.

// Bytes of a file, one at a time.
class Bytes {
  public:
    explicit Bytes(const char* path) : file_(open(path, O_RDONLY | O_CLOEXEC)) {}

    // -1 at the end.
    int next() {
        if (at_ == size_) {
            at_ = 0;
            size_ = file_ < 0 ? 0 : read(file_, buffer_, sizeof buffer_);
            if (size_ <= 0) return size_ = 0, -1;
        }
        return static_cast<unsigned char>(buffer_[at_++]);
    }

  private:
    int file_;
    char buffer_[4096];
    ssize_t at_ = 0, size_ = 0;
};

int hex_digit(int c) {
    if (c >= '0' && c <= '9') return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

// Reads digits and the character after them.
std::uintptr_t read_hex(Bytes& bytes) {
    std::uintptr_t number = 0;
    for (int digit; (digit = hex_digit(bytes.next())) >= 0;) number = number << 4 | digit;
    return number;
}

// Copies the path of the file that is mapped at the address. Returns its length, 0 if unknown.
std::size_t path_at(std::uintptr_t address, char* path, std::size_t capacity) {
    Bytes maps("/proc/self/maps");  // begin-end permissions offset device inode path
    for (;;) {
        const std::uintptr_t begin = read_hex(maps), end = read_hex(maps);
        if (end == 0) return 0;
        const bool is_here = begin <= address && address < end;
        std::size_t length = 0;
        for (int c; (c = maps.next()) != '\n';) {
            if (c < 0) return 0;
            if (!is_here || (length == 0 && c != '/')) continue;
            if (length < capacity)
                path[length++] = c < ' ' || c == 127 ? '?' : static_cast<char>(c);
        }
        if (is_here) return length;
    }
}

void write_text(const char* text, std::size_t size) {
    if (write(STDERR_FILENO, text, size) < 0) return;  // there is nobody to tell
}

template <std::size_t N>
void write_text(const char (&text)[N]) {
    write_text(text, N - 1);
}

void on_bus_error(int number, siginfo_t* about, void*) {
    static char path[4096];
    if (about->si_code != BUS_ADRERR) {  // nothing to do with files
        signal(number, SIG_DFL);
        return;
    }
    const auto address = reinterpret_cast<std::uintptr_t>(about->si_addr);
    const std::size_t length = path_at(address, path, sizeof path);
    if (isatty(STDERR_FILENO)) write_text("\x1b[?25h\n");  // a progress bar hides the cursor
    write_text("Error: ");
    length ? write_text(path, length) : write_text("a file");
    write_text(": was cut, or can't be read any more, while it was in use\n");
    _exit(1);
}

}  // namespace

void report_cut_files() {
    struct sigaction action{};
    if (sigaction(SIGBUS, nullptr, &action) != 0 || (action.sa_flags & SA_SIGINFO) != 0 ||
        action.sa_handler != SIG_DFL) {
        return;
    }
    action = {};
    action.sa_flags = SA_SIGINFO;
    action.sa_sigaction = on_bus_error;
    sigaction(SIGBUS, &action, nullptr);
}

}  // namespace komadori

#endif
