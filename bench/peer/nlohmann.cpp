// The peer of the benchmarks: reads a JSON file with nlohmann/json and prints it with dump(2).
//
//   nlohmann parse FILE            time of parsing
//   nlohmann dump FILE [OUT]       time of dump(2) alone (the file is parsed first)
//   nlohmann roundtrip FILE [OUT]  time of both
//
// The text goes to OUT; without OUT it is made and thrown away. One line on standard error:
// seconds=S peak_rss=BYTES bytes=BYTES, with the time from opening the file to having written the text, the peak
// resident memory of the process, and the size of the input.

#include <sys/resource.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <sstream>
#include <string>

#include <nlohmann/json.hpp>

namespace {

using clock_type = std::chrono::steady_clock;

double since(clock_type::time_point start) {
    return std::chrono::duration<double>(clock_type::now() - start).count();
}

long long peak_rss_bytes() {
    rusage usage{};
    getrusage(RUSAGE_SELF, &usage);
    return static_cast<long long>(usage.ru_maxrss) * 1024;
}

long long file_bytes(const std::string& path) {
    std::ifstream in(path, std::ios::binary | std::ios::ate);
    return in ? static_cast<long long>(in.tellg()) : -1;
}

// dump(2) and a newline, as the reference round trip prints them.
void print(const nlohmann::json& document, const char* out) {
    const std::string text = document.dump(2);
    if (out == nullptr) {
        return;
    }
    std::ofstream file(out, std::ios::binary);
    file.write(text.data(), static_cast<std::streamsize>(text.size()));
    file.put('\n');
    if (!file.flush()) {
        throw std::runtime_error(std::string("cannot write ") + out);
    }
}

int run(const std::string& mode, const std::string& path, const char* out) {
    const long long bytes = file_bytes(path);
    auto start = clock_type::now();
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        std::cerr << "error: cannot open " << path << '\n';
        return 2;
    }
    const nlohmann::json document = nlohmann::json::parse(in);
    double seconds = since(start);
    if (mode != "parse") {
        const auto printing = clock_type::now();
        print(document, out);
        const double printed = since(printing);
        seconds = mode == "dump" ? printed : seconds + printed;
    }
    std::fprintf(stderr, "seconds=%.6f peak_rss=%lld bytes=%lld\n", seconds, peak_rss_bytes(), bytes);
    // The document is not taken apart: the process ends, and its time is not part of the measurement.
    std::fflush(nullptr);
    std::_Exit(0);
}

}  // namespace

int main(int argc, char** argv) {
    const std::string mode = argc > 1 ? argv[1] : "";
    if (argc < 3 || argc > 4 || (mode != "parse" && mode != "dump" && mode != "roundtrip")) {
        std::cerr << "usage: nlohmann parse FILE | dump FILE [OUT] | roundtrip FILE [OUT]\n";
        return 2;
    }
    try {
        return run(mode, argv[2], argc > 3 ? argv[3] : nullptr);
    } catch (const std::exception& error) {
        std::cerr << "error: " << error.what() << '\n';
        return 1;
    }
}
