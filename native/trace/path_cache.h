/* What was just learned of directories, and is believed for a moment. */
#ifndef STENO_PATH_CACHE_H
#define STENO_PATH_CACHE_H

#include "trace.h"

struct path_cache *start_path_cache(void);
/* The caller is about to move names: what is known of them will not be true. */
void note_move(const struct stop *stop);
/* The caller is back, and if it moved names, that is over. */
void settle_move(const struct stop *stop);
/* Where a directory really is, if that was just found out; NULL otherwise. The root is "". */
const char *cached_directory(const struct stop *stop, const char *words, size_t length);
void cache_directory(const struct stop *stop, const char *words, size_t length, const char *real, size_t real_length);
/* The caller's working directory, if it was just read; NULL otherwise. */
const char *cached_cwd(const struct stop *stop);
void cache_cwd(const struct stop *stop, const char *path);

#endif
