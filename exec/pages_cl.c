/* SPDX-License-Identifier: MIT */
/* pages_cl.c - host memory in large pages, where the system gives them when it is asked. */
#include "exec/pages_cl.h"

#include <stdint.h>
#include <stdlib.h>
#ifdef __linux__
#include <sys/mman.h>
#endif

#define EXEC_PAGE ((size_t)1 << 21)
#define EXEC_PAGES_ALIGN 256 /* of a buffer; OpenCL's widest type has 128 bytes */

EXEC_API size_t exec_pages_room(size_t n)
{
    return (n + EXEC_PAGES_ALIGN - 1) / EXEC_PAGES_ALIGN * EXEC_PAGES_ALIGN;
}

EXEC_API void exec_pages_open(struct exec_pages *p, cl_device_id device, size_t n_bytes)
{
    const size_t whole = (n_bytes + EXEC_PAGE - 1) / EXEC_PAGE * EXEC_PAGE;
    cl_device_type type = 0;
    *p = (struct exec_pages){NULL, 0, 0};
    if (clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL) != CL_SUCCESS ||
        (type & CL_DEVICE_TYPE_CPU) == 0)
        return;
    p->block = malloc(whole + EXEC_PAGE);
    if (!p->block)
        return;
    p->at = (size_t)(EXEC_PAGE - (uintptr_t)p->block % EXEC_PAGE);
    p->n_bytes = p->at + whole;
#ifdef MADV_HUGEPAGE
    (void)madvise(p->block + p->at, whole, MADV_HUGEPAGE);
#endif
}

EXEC_API cl_mem exec_pages_buffer(struct exec_pages *p, cl_context context, size_t n)
{
    cl_int code = CL_SUCCESS;
    cl_mem mem;
    if (!p->block || exec_pages_room(n) > p->n_bytes - p->at)
        return NULL;
    mem = clCreateBuffer(context, CL_MEM_READ_WRITE | CL_MEM_USE_HOST_PTR, n, p->block + p->at, &code);
    if (code != CL_SUCCESS)
        return NULL;
    p->at += exec_pages_room(n);
    return mem;
}

EXEC_API void exec_pages_close(struct exec_pages *p)
{
    free(p->block);
    p->block = NULL;
}
