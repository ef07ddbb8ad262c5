// SPDX-License-Identifier: MIT
// The library in C++11: a tracker and a phase that end with their scope.
#include <toll.h>

#include <cstdio>
#include <memory>
#include <stdexcept>
#include <vector>

struct FreeTracker {
    void operator()(toll_tracker *t) const
    {
        toll_tracker_free(t);
    }
};
using Tracker = std::unique_ptr<toll_tracker, FreeTracker>;

// Measures this program from here on, in the background.
static Tracker measure_self()
{
    toll_error error;
    toll_tracker *t = nullptr;
    if (toll_measure_self(&t, nullptr, &error) < 0)
        throw std::runtime_error(error.message);
    return Tracker(t);
}

class Phase
{
  public:
    Phase(const Tracker &tracker, const char *name) : tracker_(tracker.get()), name_(name)
    {
        toll_mark_phase_begin(tracker_, name_);
    }
    ~Phase()
    {
        toll_mark_phase_end(tracker_, name_);
    }
    Phase(const Phase &) = delete;
    Phase &operator=(const Phase &) = delete;

  private:
    toll_tracker *tracker_;
    const char *name_;
};

static toll_figure figure(const Tracker &tracker, const char *name)
{
    toll_figure f = TOLL_INIT(toll_figure);
    if (toll_tracker_figure(tracker.get(), name, &f) < 0)
        throw std::runtime_error(name);
    return f;
}

int main()
{
    Tracker tracker = measure_self();
    {
        Phase phase(tracker, "fill");
        std::vector<unsigned> numbers(1 << 24, 1);
        for (int round = 0; round < 5; round++)
            for (unsigned &number : numbers)
                number = number * 31 + 7;
        std::printf("result %u\n", numbers.back());
    }
    toll_tracker_finish(tracker.get(), nullptr);
    toll_figure cpu = figure(tracker, "target_cpu_seconds");
    toll_figure memory = figure(tracker, "target_memory_rss_bytes");
    toll_figure own = figure(tracker, "self_cpu_seconds");
    std::printf("target_cpu_seconds %.15g (%s)\n", cpu.total, cpu.quality_word);
    std::printf("target_memory_rss_bytes %.15g (%s)\n", memory.max, memory.quality_word);
    std::printf("self_cpu_seconds %.15g (%s)\n", own.total, own.quality_word);
}
