// Missing or too weak waits: what is in flight, by wait counter, and what a wait completes.
//
// Memory instructions of one counter complete in the order of issue, except scalar loads (and flat ones on gfx9), for
// which only a wait for 0 helps. Which counter an instruction occupies: LLVM's SIInsertWaitcnts and the ISA documents;
// see check_plan.cpp, counters_of.
#include "check.hpp"

namespace emu::check {
namespace {

template <int L>
void set_pending(WaveCheck<L>& c, const Plan& p, bool pending) {
  for (u32 n = 0; n < p.writes; n++) {
    for (u32 r = p.write[n].first; r < p.write[n].first + u32{p.write[n].count}; r++) {
      c.state[r] = pending ? c.state[r] | kPending : c.state[r] & ~kPending;
    }
  }
}

void in_flight(Queue& q, const Record& r, u8 counters, u32 change) {
  for (u32 n = 0; n < 8; n++) {
    if (!(counters >> n & 1)) continue;
    q.outstanding[n] += change;
    if (r.plan->unordered) q.unordered[n] += change;
  }
}

template <int L>
void complete(Wave<L>& w, Record& r, u8 counters) {
  in_flight(wave_check(w).queue, r, r.counters & counters, ~0u);
  r.counters &= ~counters;
  if (r.counters) return;
  WaveCheck<L>& c = wave_check(w);
  set_pending(c, *r.plan, false);
  if (c.rewritten) {
    for (u32 n = 0; n < c.queue.count; n++) {
      if (c.queue.at(n).counters) set_pending(c, *c.queue.at(n).plan, true);
    }
  }
  if (r.lds == LdsUse::kDirect) {
    end_direct(w, r.footprint[0]);
    stamp(w, r);
  }
}

void drop_completed(Queue& q) {
  while (q.count && q.at(0).counters == 0) {
    q.first = (q.first + 1) % Queue::kCapacity;
    q.count--;
  }
}

// At most `allowed` instructions of the counter may still be in flight.
template <int L>
void wait_for(Wave<L>& w, u32 counter, u32 allowed) {
  Queue& q = wave_check(w).queue;
  if (q.outstanding[counter] <= allowed || (q.unordered[counter] && allowed)) return;
  for (u32 n = 0; n < q.count && q.outstanding[counter] > allowed; n++) {
    if (q.at(n).counters >> counter & 1) complete(w, q.at(n), static_cast<u8>(1 << counter));
  }
  drop_completed(q);
}

template <int L>
void retire_oldest(Wave<L>& w, u32 counter) {
  Queue& q = wave_check(w).queue;
  for (u32 n = 0; n < q.count; n++) {
    if (!(q.at(n).counters >> counter & 1)) continue;
    complete(w, q.at(n), static_cast<u8>(1 << counter));
    break;
  }
  drop_completed(q);
}

const char* counter_name(u8 counters, Arch arch) {
  const bool gfx12 = arch == Arch::kRdna4;
  if (counters & 1 << kLoadCnt) return gfx12 ? "loadcnt" : "vmcnt";
  if (counters & 1 << kDsCnt) return gfx12 ? "dscnt" : "lgkmcnt";
  if (counters & 1 << kKmCnt) return "kmcnt";
  return gfx12 ? "storecnt" : is_cdna(arch) ? "vmcnt" : "vscnt";
}

}  // namespace

template <int L>
void apply_wait(Wave<L>& w, u64 waits) {
  for (u32 counter = 0; counter < 8; counter++) {
    const u32 allowed = waits >> 8 * counter & 0xff;
    if (allowed != kNoWait) wait_for(w, counter, allowed);
  }
}

template <int L>
void push_record(Wave<L>& w, const Insn& i, const Plan& p, const Footprint* footprints, u32 count) {
  WaveCheck<L>& c = wave_check(w);
  Queue& q = c.queue;
  if (q.count == Queue::kCapacity) {
    complete(w, q.at(0), 0xff);
    drop_completed(q);
  }
  for (u32 counter = 0; counter < 8; counter++) {
    if ((p.counters >> counter & 1) && q.outstanding[counter] >= Queue::kCounterMax) retire_oldest(w, counter);
  }
  Record& r = q.at(q.count++);
  r.insn = &i;
  r.plan = &p;
  r.counters = p.counters;
  r.footprints = static_cast<u8>(count);
  r.lds = count == 0                         ? LdsUse::kNone
          : p.memory.form == Form::kToLds    ? LdsUse::kDirect
          : p.memory.access == Access::kLoad ? LdsUse::kRead
                                             : LdsUse::kWrite;
  for (u32 n = 0; n < count; n++)
    memcpy(&r.footprint[n], &footprints[n], offsetof(Footprint, address) + L * sizeof(u32));
  in_flight(q, r, p.counters, 1);
  set_pending(c, p, true);
}

bool overlap(const Plan& x, const Plan& y) {
  for (u32 n = 0; n < x.writes; n++) {
    for (u32 k = 0; k < y.writes; k++) {
      if (x.write[n].first < y.write[k].first + u32{y.write[k].count} &&
          y.write[k].first < x.write[n].first + u32{x.write[n].count})
        return true;
    }
  }
  return false;
}

// Loads of one counter write their registers in the order of issue: the last one's stay. The compiler counts on that.
bool in_order(Queue& q, const Plan& p) {
  if (p.memory.access != Access::kLoad || p.unordered) return false;
  for (u32 n = 0; n < q.count; n++) {
    const Record& r = q.at(n);
    const bool alike = r.plan->memory.access == Access::kLoad && r.plan->counters == p.counters && !r.plan->unordered;
    if (r.counters && !alike && overlap(*r.plan, p)) return false;
  }
  return true;
}

// Reports an instruction that reads or writes registers of an access in flight.
template <int L>
void report_pending(Wave<L>& w, const Plan& p) {
  WaveCheck<L>& c = wave_check(w);
  const auto find = [&](const Range* ranges, u32 count) {
    for (u32 n = 0; n < count; n++) {
      for (u32 r = ranges[n].first; r < ranges[n].first + u32{ranges[n].count}; r++) {
        if (c.state[r] & kPending) return r;
      }
    }
    return kRegisters;
  };
  u32 reg = find(p.read, p.reads);
  const bool read = reg != kRegisters;
  if (!read && in_order(c.queue, p)) {
    c.rewritten = true;
    return;
  }
  if (!read) reg = find(p.write, p.writes);
  for (u32 n = 0; n < c.queue.count; n++) {
    const Record& r = c.queue.at(n);
    for (u32 k = 0; k < r.plan->writes; k++) {
      const Range& range = r.plan->write[k];
      if (reg < range.first || reg >= range.first + u32{range.count}) continue;
      return trap(w, -1, "missing wait: %s is %s before the %s of assembly line %u into it has been waited for (%s)",
                  RegisterName(reg).text, read ? "read" : "overwritten",
                  r.plan->memory.access == Access::kLoad ? "load" : "atomic", r.insn->line + 1,
                  counter_name(r.counters, w.arch));
    }
  }
}

template <int L>
void carry_over_barrier(Wave<L>& w) {
  WaveCheck<L>& c = wave_check(w);
  for (u32 n = 0; n < c.queue.count; n++) {
    const Record& r = c.queue.at(n);
    if (r.counters && r.lds != LdsUse::kNone) stamp(w, r);
  }
}

#define INSTANTIATE(L)                                                                     \
  template void apply_wait<L>(Wave<L>&, u64);                                              \
  template void push_record<L>(Wave<L>&, const Insn&, const Plan&, const Footprint*, u32); \
  template void report_pending<L>(Wave<L>&, const Plan&);                                  \
  template void carry_over_barrier<L>(Wave<L>&);
INSTANTIATE(32)
INSTANTIATE(64)

}  // namespace emu::check
