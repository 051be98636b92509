// Counts the allocations and the Swift tasks of this process, on Linux with glibc: the target defines malloc and its relatives, which call
// glibc's own, and swift_task_create, which calls the runtime's.
#ifndef ALLOCATIONS_H
#define ALLOCATIONS_H

/// The allocations and the tasks since `allocations_begin`, and by how many bytes the memory in use has grown. All are -1 where they cannot be
/// counted.
typedef struct { long count, bytes, tasks; } allocations;

void allocations_begin(void);
allocations allocations_end(void);

#endif
