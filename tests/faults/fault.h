/* SPDX-License-Identifier: MIT */
/* fault.h - FAULT(n) is true where the environment says TUNE_FAULT=n. Only in the copy of the tree that faults.sh
 * makes. With TUNE_FAULTS_REACHED=folder each place that is reached leaves an empty file of its number there. No header
 * is included and functions go by names of their own: the file behind may have a static read() or send(). */
char *fault_getenv(const char *name) __asm__("getenv");
int fault_atoi(const char *text) __asm__("atoi");
int fault_snprintf(char *to, unsigned long n, const char *format, ...) __asm__("snprintf");
int fault_creat(const char *path, unsigned mode) __asm__("creat");
int fault_close(int fd) __asm__("close");
int *fault_errno(void) __asm__("__errno_location");

static int fault_asked;
static const char *faults_reached;

__attribute__((constructor)) static void fault_begin(void)
{
    const char *text = fault_getenv("TUNE_FAULT");

    fault_asked = text ? fault_atoi(text) : 0;
    faults_reached = fault_getenv("TUNE_FAULTS_REACHED");
}

__attribute__((unused, noinline)) static void fault_reach(int n)
{
    static unsigned char known[4096];
    const int before = *fault_errno();
    char path[512];
    int fd;

    if (n >= (int)sizeof known || known[n])
        return;
    known[n] = 1;
    fault_snprintf(path, sizeof path, "%s/%d", faults_reached, n);
    fd = fault_creat(path, 0666);
    if (fd >= 0)
        fault_close(fd);
    *fault_errno() = before;
}

#define FAULT(n) ((faults_reached ? fault_reach(n) : (void)0), fault_asked == (n))
