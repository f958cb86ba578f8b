// Work on large arrays shared out over a few threads.
#ifndef TORCHLITE_THREADS_H
#define TORCHLITE_THREADS_H

#include <stddef.h>

enum { THREADS_FROM = 1 << 17 };  // numbers, from which on threads are worth their waking

typedef void Share(void *work, ptrdiff_t from, ptrdiff_t to);

// Does `count` pieces of work, at least so many at a time, without the interpreter's lock. What a piece comes to may not
// depend on those that are done with it: so results are the same whatever the number of threads.
void in_shares(Share *share, void *work, ptrdiff_t count, ptrdiff_t least);

extern int threads;  // how many there may be, this one among them

#endif
