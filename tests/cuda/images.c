/* SPDX-License-Identifier: MIT */
/* images.c - "cubins" and "PTX" of the emulated NVRTC. A cubin is a shared object for this host with the architecture
 * written into it; PTX is a few lines of text and the same bytes in hexadecimal digits. A real one cannot run here and
 * is refused as one for another device is. */
#include "tests/cuda/driver.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_IMAGE ((size_t)64 << 20)

#if defined(__x86_64__)
#define HOST_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define HOST_MACHINE EM_AARCH64
#else
#define HOST_MACHINE EM_NONE
#endif

/* An image comes without its length: an object ends with its table of sections. */
static size_t object_bytes(const Elf64_Ehdr *h)
{
    return (size_t)h->e_shoff + (size_t)h->e_shnum * h->e_shentsize;
}

static int sm_of(const unsigned char *bytes, size_t n_bytes)
{
    static const char mark[] = EMU_SM_MARK;
    const unsigned char *at = memmem(bytes, n_bytes, mark, sizeof mark - 1);

    return at ? atoi((const char *)at + sizeof mark - 1) : 0;
}

static CUresult read_cubin(const void *image, CUdevice device, unsigned char **bytes, size_t *n_bytes)
{
    const Elf64_Ehdr *h = image;
    const size_t n = object_bytes(h);

    if (h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_machine != HOST_MACHINE || n > MAX_IMAGE)
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    if (!sm_of(image, n))
        return CUDA_ERROR_INVALID_IMAGE;
    if (sm_of(image, n) / 10 != device_sm(device) / 10 || sm_of(image, n) > device_sm(device))
        return CUDA_ERROR_NO_BINARY_FOR_GPU; /* runs on later ones of its major number */
    *bytes = malloc(n);
    if (!*bytes)
        return CUDA_ERROR_OUT_OF_MEMORY;
    memcpy(*bytes, image, n);
    *n_bytes = n;
    return CUDA_SUCCESS;
}

static unsigned char *decode(const char *text, size_t n)
{
    unsigned char *bytes = malloc(n);

    for (size_t i = 0; bytes && i < n; i++) {
        unsigned byte;

        if (sscanf(text + 2 * i, "%2x", &byte) != 1) {
            free(bytes);
            return NULL;
        }
        bytes[i] = (unsigned char)byte;
    }
    return bytes;
}

/* Is compiled for the device when loaded, if it is of no later architecture and the driver knows its version. */
static CUresult read_ptx(const char *text, CUdevice device, unsigned char **bytes, size_t *n_bytes)
{
    int cuda = 0, sm = 0, at = 0;
    size_t n = 0;

    if (sscanf(text, "// emulated, CUDA %d\n.target sm_%d\n// %zu bytes: %n", &cuda, &sm, &n, &at) != 3 || !at ||
        n > MAX_IMAGE)
        return CUDA_ERROR_INVALID_PTX;
    if (cuda > environment_number("TUNE_CUDA_DRIVER", 13000))
        return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
    if (sm > device_sm(device))
        return CUDA_ERROR_NO_BINARY_FOR_GPU;
    *bytes = decode(text + at, n);
    if (!*bytes)
        return CUDA_ERROR_INVALID_PTX;
    *n_bytes = n;
    return CUDA_SUCCESS;
}

CUresult image_read(const void *image, CUdevice device, unsigned char **bytes, size_t *n_bytes)
{
    const unsigned char *at = image;

    if (memcmp(at, ELFMAG, SELFMAG) == 0)
        return read_cubin(image, device, bytes, n_bytes);
    if (*at == '/' || *at == '.' || *at == '\n')
        return read_ptx(image, device, bytes, n_bytes);
    return CUDA_ERROR_INVALID_IMAGE;
}

/* Static variables of functions have the function's name in theirs: _ZZ, its length, it, E ... */
static bool is_local_static(const char *name, char kernel[128])
{
    unsigned long n;
    char *end;

    if (strncmp(name, "_ZZ", 3) != 0)
        return false;
    name += 3;
    kernel[0] = '\0';
    n = strtoul(name, &end, 10);
    if (end != name && n < 128 && strlen(end) > n && end[n] == 'E')
        snprintf(kernel, 128, "%.*s", (int)n, end);
    return true;
}

/* `base`: where the object is loaded. */
static CUresult add_shared(struct CUmod_st *m, const Elf64_Sym *symbol, const char *name, unsigned char *base)
{
    struct shared_variable v = {{base + symbol->st_value, symbol->st_size}, ""}, *more;

    if (strncmp(name, "_ZGVZ", 5) == 0) /* says whether one was constructed, which shared memory never is */
        *v.range.at = 1;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_OBJECT || !is_local_static(name, v.kernel))
        return CUDA_SUCCESS;
    more = realloc(m->shared, (m->n_shared + 1) * sizeof *more);
    if (!more)
        return CUDA_ERROR_OUT_OF_MEMORY;
    m->shared = more;
    m->shared[m->n_shared++] = v;
    return CUDA_SUCCESS;
}

CUresult image_find_shared(struct CUmod_st *m, const unsigned char *bytes, size_t n_bytes)
{
    const Elf64_Ehdr *h = (const void *)bytes;
    const Elf64_Shdr *sections = (const void *)(bytes + h->e_shoff);
    unsigned char *base = NULL;
    CUresult e = CUDA_SUCCESS;

    (void)n_bytes;
    for (int i = 0; i < h->e_shnum; i++) {
        const Elf64_Sym *symbols = (const void *)(bytes + sections[i].sh_offset);
        const size_t n = sections[i].sh_type == SHT_SYMTAB ? sections[i].sh_size / sizeof *symbols : 0;
        const char *names = n ? (const char *)bytes + sections[sections[i].sh_link].sh_offset : NULL;

        for (size_t k = 0; k < n; k++)
            if (strcmp(names + symbols[k].st_name, EMU_MODULE) == 0)
                base = (unsigned char *)(uintptr_t)m->object - symbols[k].st_value;
        for (size_t k = 0; !e && base && k < n; k++)
            e = add_shared(m, &symbols[k], names + symbols[k].st_name, base);
    }
    return e;
}
