// with: text.c
/* Two words of any bytes, joined: the result is absolute, ended, fits, and joining it again changes nothing. Its last name is
 * a name. */
#include "fuzz.h"
#include "text.h"

#define BASE_MOST 255

static void consume(const uint8_t *bytes, size_t length)
{
    char base[BASE_MOST + 1] = "", *path = malloc(length + 1), again[LARGEST];
    size_t base_length = length > 2 ? bytes[0] : 0, size = length > 2 ? bytes[1] * 17u + 2 : 2;
    size_t skip = length > 2 ? 2 : length;
    if (base_length > length - skip)
        base_length = length - skip;
    memcpy(base, bytes + skip, base_length);
    memcpy(path, bytes + skip + base_length, length - skip - base_length);
    path[length - skip - base_length] = 0;
    char *into = malloc(size);
    CHECK(into);
    size_t used = join_paths(base, path, into, size);
    CHECK(used < size && strlen(into) == used && into[0] == '/' && (used == 1 || into[used - 1] != '/'));
    CHECK(!strstr(into, "//") && !strstr(into, "/./"));
    CHECK(join_paths("", into, again, sizeof again) == used && strcmp(again, into) == 0);
    const char *name = last_name(into);
    CHECK(!ends_as_directory(into) || used == 1);
    CHECK(!name || (name > into && name[-1] == '/' && *name && !strchr(name, '/') && strcmp(name, "..") != 0));
    free(into);
    free(path);
}

int main(int argc, char **argv)
{
    static const struct seed seeds[] = {
        SEED("\x05\xff/home/user/.config"), SEED("\x04\x02/usrlocal/./bin//x/../y"), SEED("\x01\x20/////././."),
        SEED("\x00\x01relative"),           SEED("\x10\x10no slash at all .."),      SEED(""),
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
