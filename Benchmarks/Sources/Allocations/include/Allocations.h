// Counts the allocations of this process, on Linux with glibc: the target defines malloc and its relatives, which call glibc's own.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// The allocations since `allocations_begin`, and by how many bytes the memory in use has grown. Both are -1 where they cannot be counted.
typedef struct { long count, bytes; } allocations;

void allocations_begin(void);
allocations allocations_end(void);

#endif
