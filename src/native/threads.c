// A pool of threads. The thread that has work does its part, and whoever finds the pool at work for another does all by
// itself. To wake a thread takes as long as many a kernel, and kernels come one after the other: so a thread that is done
// stays awake for about as long as waking it would take, and sleeps then.
#include "threads.h"

int threads = 1;

#if defined(_WIN32)
void in_shares(Share *share, void *work, ptrdiff_t count, ptrdiff_t least)
{
    share(work, 0, count);
}
#else
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>

enum { MOST = 64, EACH = 4 };  // threads; shares for each, so that one that is late holds up the others less
enum { LOOKS = 2000 };         // for what is waited for, before sleeping: some 50 microseconds

static struct {
    pthread_mutex_t used, lock;
    pthread_cond_t begun, ended;
    Share *share;
    void *work;
    ptrdiff_t count;
    int shares, taken, workers, asleep;
    atomic_int calls, left;  // looked at without the lock, too
} pool = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, PTHREAD_COND_INITIALIZER};

static inline void pause_a_moment(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    __asm__ volatile("isb");
#endif
}

// Waits a little for a number to become another. The lock is held before and after.
static void watch(atomic_int *number, int now)
{
    pthread_mutex_unlock(&pool.lock);
    for (int i = 0; i < LOOKS && atomic_load_explicit(number, memory_order_acquire) == now; i++) pause_a_moment();
    pthread_mutex_lock(&pool.lock);
}

// Takes shares until there are none. The lock is held before and after.
static void take_shares(void)
{
    while (pool.taken < pool.shares) {
        const int at = pool.taken++;
        pthread_mutex_unlock(&pool.lock);
        pool.share(pool.work, pool.count * at / pool.shares, pool.count * (at + 1) / pool.shares);
        pthread_mutex_lock(&pool.lock);
        if (!--pool.left) pthread_cond_signal(&pool.ended);
    }
}

static void *worker(void *nothing)
{
    pthread_mutex_lock(&pool.lock);
    for (;;) {
        take_shares();
        const int seen = pool.calls;
        watch(&pool.calls, seen);
        pool.asleep++;
        while (pool.calls == seen) pthread_cond_wait(&pool.begun, &pool.lock);
        pool.asleep--;
    }
    return nothing;
}

// In a child process there are no workers, whatever the parent was at.
static void forget(void)
{
    const pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    const pthread_cond_t condition = PTHREAD_COND_INITIALIZER;
    pool.used = pool.lock = mutex;
    pool.begun = pool.ended = condition;
    pool.shares = pool.taken = pool.left = pool.workers = pool.asleep = 0;
}

// Sees to so many workers, which leave signals to the interpreter's threads.
static void hire(int wanted)
{
    static int watched;
    sigset_t all, before;
    pthread_attr_t detached;
    pthread_t thread;
    if (pool.workers >= wanted) return;
    if (!watched) watched = !pthread_atfork(NULL, NULL, forget);
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    pthread_attr_init(&detached);
    pthread_attr_setdetachstate(&detached, PTHREAD_CREATE_DETACHED);
    while (pool.workers < wanted && !pthread_create(&thread, &detached, worker, NULL)) pool.workers++;
    pthread_attr_destroy(&detached);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
}

void in_shares(Share *share, void *work, ptrdiff_t count, ptrdiff_t least)
{
    const int wanted = threads < MOST ? threads : MOST;
    const ptrdiff_t most = count / (least > 0 ? least : 1);
    if (wanted < 2 || most < 2 || pthread_mutex_trylock(&pool.used)) {
        share(work, 0, count);
        return;
    }
    hire(wanted - 1);
    pthread_mutex_lock(&pool.lock);
    pool.share = share;
    pool.work = work;
    pool.count = count;
    pool.shares = pool.left = (int)(most < wanted ? most : most < wanted * EACH ? most - most % wanted : wanted * EACH);
    pool.taken = 0;
    pool.calls++;
    if (pool.asleep) pthread_cond_broadcast(&pool.begun);
    take_shares();
    for (int left; (left = pool.left) > 0;) {
        watch(&pool.left, left);
        if (pool.left == left) pthread_cond_wait(&pool.ended, &pool.lock);
    }
    pthread_mutex_unlock(&pool.lock);
    pthread_mutex_unlock(&pool.used);
}
#endif
