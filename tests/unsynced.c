/* LD_PRELOAD: notes what is on the disk for sure, so that a power cut can be played afterwards (tests/power_cut.py).

   A file's content counts as it was at its last fsync or fdatasync, io_submit(2)'s included; a folder's names count as they were at its own last
   fsync. Everything else is lost. No file system loses more, and most lose less.

   UNSYNCED_ROOT  the folder that is watched
   UNSYNCED_DISK  where the copies go, one per inode and birth:  <key> is a file's content or, with .names, a folder's */

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/aio_abi.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sendfile.h>
#include <sys/syscall.h>
#include <unistd.h>

static int real_sync(const char *name, int fd) {
    int (*call)(int) = (int (*)(int))dlsym(RTLD_NEXT, name);
    return call(fd);
}

/* An inode's number is given away again: its birth tells two files apart. */
static int key_of(int fd, const char *name, char *key, size_t size, int *is_folder) {
    struct statx found;
    int flags = AT_SYMLINK_NOFOLLOW | (*name ? 0 : AT_EMPTY_PATH);
    if (statx(fd, name, flags, STATX_BASIC_STATS | STATX_BTIME, &found) != 0) return -1;
    *is_folder = S_ISDIR(found.stx_mode);
    if (!*is_folder && !S_ISREG(found.stx_mode)) return -1;
    snprintf(key, size, "%llu-%lld-%u", (unsigned long long)found.stx_ino, (long long)found.stx_btime.tv_sec,
             found.stx_btime.tv_nsec);
    return 0;
}

static void keep_content(int fd, const char *target) {
    char own[64];
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    int in = open(own, O_RDONLY | O_CLOEXEC), out = open(target, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (in >= 0 && out >= 0)
        while (sendfile(out, in, NULL, 1 << 30) > 0) {}
    if (in >= 0) close(in);
    if (out >= 0) close(out);
}

static void keep_names(int fd, const char *target) {
    int again = openat(fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    DIR *folder = again < 0 ? NULL : fdopendir(again);
    FILE *out = folder == NULL ? NULL : fopen(target, "we");
    if (out == NULL) {
        if (folder != NULL) closedir(folder);
        return;
    }
    struct dirent *entry;
    while ((entry = readdir(folder)) != NULL) {
        char key[128];
        int is_folder;
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (key_of(again, entry->d_name, key, sizeof key, &is_folder) == 0)
            fprintf(out, "%c%s %s%c", is_folder ? 'd' : 'f', key, entry->d_name, '\0');
    }
    fclose(out);
    closedir(folder);
}

static void note(int fd) {
    const char *root = getenv("UNSYNCED_ROOT"), *disk = getenv("UNSYNCED_DISK");
    char own[64], path[PATH_MAX], key[128], fresh[PATH_MAX], target[PATH_MAX];
    int is_folder;
    if (root == NULL || disk == NULL) return;
    snprintf(own, sizeof own, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(own, path, sizeof path - 1);
    if (length < 0) return;
    path[length] = '\0';
    size_t prefix = strlen(root);
    if (strncmp(path, root, prefix) != 0 || (path[prefix] != '/' && path[prefix] != '\0')) return;
    if (key_of(fd, "", key, sizeof key, &is_folder) != 0) return;
    snprintf(target, sizeof target, "%s/%s%s", disk, key, is_folder ? ".names" : "");
    snprintf(fresh, sizeof fresh, "%s.%d.%p", target, (int)getpid(), (void *)&own);
    if (is_folder) keep_names(fd, fresh);
    else keep_content(fd, fresh);
    rename(fresh, target); /* whole or not at all: a kill may come at any moment */
}

int fsync(int fd) {
    int result = real_sync("fsync", fd);
    if (result == 0) note(fd);
    return result;
}

int fdatasync(int fd) {
    int result = real_sync("fdatasync", fd);
    if (result == 0) note(fd);
    return result;
}

/* The syncs that the kernel makes in the background: each is made here before it is asked for. */
long syscall(long number, ...) {
    long (*call)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long word[6];
    va_list given;
    va_start(given, number);
    for (int each = 0; each < 6; each++) word[each] = va_arg(given, long);
    va_end(given);
    if (number == SYS_io_submit)
        for (long each = 0; each < word[1]; each++) {
            struct iocb *asked = ((struct iocb **)word[2])[each];
            if (asked->aio_lio_opcode == IOCB_CMD_FSYNC || asked->aio_lio_opcode == IOCB_CMD_FDSYNC)
                fsync((int)asked->aio_fildes);
        }
    return call(number, word[0], word[1], word[2], word[3], word[4], word[5]);
}
