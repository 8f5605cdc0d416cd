/* A file of the spool that grows at its end, written through memory: what is in it survives our own death. */
#ifndef STENO_MAPPED_FILE_H
#define STENO_MAPPED_FILE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>


struct growing {
    int fd;
    uint8_t *window;        /* the part of the file that is mapped */
    uint64_t window_start;
    size_t window_size;
    uint64_t used;          /* whole bytes */
};

int growing_open(struct growing *file, int folder, const char *name);
/* Where to write `length` bytes at the end, or NULL when the disk is full. They count after `growing_commit`. */
uint8_t *growing_reserve(struct growing *file, size_t length);
void growing_commit(struct growing *file, size_t length);
bool growing_look(const struct growing *file, uint64_t at, void *into, size_t length);
/* Overwrites bytes that are whole already. */
bool growing_amend(struct growing *file, uint64_t at, const void *bytes, size_t length);
void growing_close(struct growing *file);
/* A command that truncates our files must not kill us: a page that is gone is replaced by an empty one. */
int survive_truncation(void);

#endif
