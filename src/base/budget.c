/* The shared memory budget: one atomic counter, so that no thread waits for another. */
#include "base/base.h"

static void raise_peak(sl_budget *budget, size_t used)
{
    size_t peak = atomic_load_explicit(&budget->peak, memory_order_relaxed);
    while (used > peak && !atomic_compare_exchange_weak_explicit(
                              &budget->peak, &peak, used, memory_order_relaxed, memory_order_relaxed)) {
    }
}

static bool reserve_here(sl_budget *budget, size_t bytes)
{
    size_t used = atomic_load_explicit(&budget->used, memory_order_relaxed), after;
    do {
        if (sl_add_overflows(used, bytes, &after) || (budget->limit && after > budget->limit))
            return false;
    } while (!atomic_compare_exchange_weak_explicit(&budget->used, &used, after, memory_order_relaxed,
                                                    memory_order_relaxed));
    raise_peak(budget, after);
    return true;
}

bool sl_budget_reserve(sl_budget *budget, size_t bytes)
{
    if (!budget)
        return true;
    if (!reserve_here(budget, bytes))
        return false;
    if (sl_budget_reserve(budget->parent, bytes))
        return true;
    atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
    return false;
}

void sl_budget_force(sl_budget *budget, size_t bytes)
{
    for (; budget; budget = budget->parent)
        raise_peak(budget, atomic_fetch_add_explicit(&budget->used, bytes, memory_order_relaxed) + bytes);
}

void sl_budget_release(sl_budget *budget, size_t bytes)
{
    for (; budget; budget = budget->parent)
        atomic_fetch_sub_explicit(&budget->used, bytes, memory_order_relaxed);
}

size_t sl_budget_share(const sl_budget *budget, size_t users, size_t least, size_t most)
{
    while (budget && budget->parent)
        budget = budget->parent;
    if (!budget || !budget->limit)
        return most;
    size_t share = budget->limit / users;
    return share < least ? least : share > most ? most : share;
}
